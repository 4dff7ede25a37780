package torch

// What tests see of how CUDA is found, on machines that have it too, and of which
// processors serve.
var (
	CUDAFolders = cudaFolders
	LoadCUDA    = loadCUDA
	Refusal     = refusal
	// and of a libtorch that lacks something.
	UnusedGPUOf = unusedGPU
)

// QRNNDoubling is how a scan runs on an accelerator, the others what it does by fewer operators.
var (
	QRNNDoubling        = qrnnDoubling
	MeanSquareReference = meanSquareReference
	LinearsReference    = linearsReference
)
