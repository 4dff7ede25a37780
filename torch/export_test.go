package torch

// What tests see of how CUDA is found, on machines that have it too.
var (
	CUDAFolders = cudaFolders
	LoadCUDA    = loadCUDA
)
