// Package report records how a run went and shows it: metrics.jsonl, a TensorBoard event file, plots, and report.html.
//
// # Basics
//
// A training run writes a Record for each line of metrics.jsonl with a Metrics writer, and the same numbers to an Events
// writer for TensorBoard. ReadRecords reads the lines back, Draw draws every plot they have data for, and Page.Write puts
// plots, results, configuration and samples on one page that needs no other file.
//
// All functions take plain numbers, slices and maps.
//
// # Caveats
//
// JSON has no NaN and no infinities: an undefined number is null in metrics.jsonl, NaN once read back, and left out of plots
// and of TensorBoard.
//
// A resumed run cuts metrics.jsonl back to its checkpoint; an event file cannot be cut, so NewEvents begins with a mark that
// makes TensorBoard drop what an earlier process wrote after that step.
package report
