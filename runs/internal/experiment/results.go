package experiment

import "github.com/aperture-ml/aperture/runs/internal/record"

// What a run's folder holds, as package record has it for programs without libtorch.
type (
	Results     = record.Results
	ResultsData = record.ResultsData
	Vectors     = record.Vectors
	ValidScores = record.ValidScores
	Best        = record.Best
	TestScores  = record.TestScores
	Isotropy    = record.Isotropy
	Code        = record.Code
	Env         = record.Env
	Number      = record.Number
	Text        = record.Text
)

// Num is [record.Num].
func Num[T int | int64 | float32 | float64](x T) Number { return record.Num(x) }

// Nums is [record.Nums].
func Nums(xs []float64) []Number { return record.Nums(xs) }
