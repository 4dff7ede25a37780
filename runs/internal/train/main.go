package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aperture-ml/aperture/models/language"
	"github.com/aperture-ml/aperture/models/parallel"
	"github.com/aperture-ml/aperture/runs/internal/command"
	"github.com/aperture-ml/aperture/runs/internal/experiment"
	"github.com/aperture-ml/aperture/runs/internal/record"
	"github.com/aperture-ml/aperture/runs/internal/report"
	"github.com/aperture-ml/aperture/torch"
	"github.com/aperture-ml/aperture/torch/checkpoint"
)

// Main is the program of the run in the folder runs/NAME. It does not return.
func Main(name string) {
	command.Resumes()
	command.Exit(command.Guard(func() error {
		spec := experiment.SpecOf(name)
		if spec == nil {
			return command.Usagef("%s is the name of no run: call this program %s", name,
				strings.Join(experiment.Runs(), ", "))
		}
		settings, err := experiment.Parse(spec, os.Args[1:])
		if err != nil {
			return err
		}
		if settings.Launch > 0 && !settings.Plan {
			return parallel.Launch(settings.Launch, os.Args[1:], 10*time.Second)
		}
		ctx, stop := command.Interruptible(context.Background())
		defer stop()
		return command.On(torch.Main, func() error { return Run(ctx, settings) })
	}))
}

// Run trains as the settings say, and tests. It must be called on the torch thread.
func Run(ctx context.Context, s *experiment.Settings) error {
	if s.Plan && s.Place.Rank > 0 {
		return nil
	}
	device, err := torch.FindDevice(s.Config.Train.Device)
	if n := s.Place.LocalRank; n > 0 && device == "cuda:0" { // a device for each
		device, err = torch.FindDevice(fmt.Sprint("cuda:", n))
	}
	if err != nil {
		return &command.UsageError{Err: err}
	}
	torch.SetThreads(s.Config.Train.Threads)
	torch.AllowTF32(device, s.Config.Train.TF32)
	choosePrecision(s, device)
	if s.Config.Train.Precision == "bfloat16" && device == torch.CPU && !torch.HasBFloat16() {
		then := "use float32"
		if s.Resume() {
			then = "resume where there is one, or start a new run with another -out"
		}
		return fmt.Errorf("train.precision = \"bfloat16\" needs a CPU with bfloat16 instructions, or a GPU: %s", then)
	}
	if s.Plan {
		read, err := readTexts(s, nil)
		if err != nil {
			return err
		}
		return advise(s, command.Guard(func() error { return plan(s, read, device) }), "")
	}
	if p := s.Config.Preset; strings.HasSuffix(p, "-finetune") && s.Config.Train.Init == "" && !s.Resume() {
		return command.Usagef("preset %s trains another run further: name that run with -init", p)
	}
	var log atomic.Pointer[experiment.Logger] // of the run, once there is one
	waiting := func(rank int) {
		if s.Place.Rank == 0 && !s.Quiet {
			fmt.Fprintf(os.Stderr, "waiting for rank %d of %d\n", rank, s.Place.Size)
		}
	}
	peers, err := parallel.Join(ctx, s.Place, time.Duration(s.Config.Train.Silence)*time.Second, waiting, func(err error) {
		if l := log.Load(); l != nil {
			l.Fail(err)
		}
		command.Exit(err)
	})
	if err != nil {
		return command.StoppedSay(err, "the other processes had not come")
	}
	run, err := work(ctx, s, device, peers, &log)
	if err = peers.Leave(err, errors.As(err, new(*command.SignalError))); run == nil {
		return err
	}
	if err != nil {
		run.Log.Fail(err)
	}
	return cmp.Or(err, run.Close())
}

// fasterInBFloat16 are the networks that were measured faster so on processors with instructions for it
// (docs/results/speed.md).
var fasterInBFloat16 = []string{"transformer", "awd-lstm", "transformer-xl", "gpt"}

// choosePrecision puts what "auto" stands for in its place, and says so. A resumed run has it in its configuration.
func choosePrecision(s *experiment.Settings, device torch.Device) {
	c := &s.Config.Train.Precision
	if *c != "auto" {
		return
	}
	why := ""
	switch kind := s.Config.Model.Kind; {
	case device != torch.CPU:
		*c, why = "float32", "bfloat16 was not measured on a GPU"
	case !torch.HasBFloat16():
		*c, why = "float32", "this processor has no instructions for bfloat16"
	case !slices.Contains(fasterInBFloat16, kind):
		*c, why = "float32", fmt.Sprintf("model.kind = %q was not measured in bfloat16", kind)
	default:
		*c, why = "bfloat16", fmt.Sprintf("model.kind = %q was measured faster so on such processors", kind)
	}
	if s.Place.Rank == 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("train.precision is %s: %s", *c, why))
	}
}

// work is Run as one of several processes, or as the only one. It returns the run, where one was opened.
func work(ctx context.Context, s *experiment.Settings, device torch.Device, peers *parallel.Peers,
	log *atomic.Pointer[experiment.Logger]) (run *experiment.Run, err error) {
	held := ""
	defer func() { err = advise(s, err, held) }()
	env := experiment.NewEnv(map[string]string{"libtorch": torch.Version()}, string(device), torch.Threads())
	env.ISA = torch.ISA()
	if err := agree(s, env, peers); err != nil {
		return nil, err
	}
	// The folder comes before the texts, which may take long: what is killed while it reads them can be resumed.
	if run, err = experiment.Open(s, env); err != nil {
		return nil, err
	}
	log.Store(run.Log)
	if err := peers.SameFile(run.Path(experiment.EnvFile)); err != nil {
		run.Abandon()
		return run, err
	}
	if warning := s.Place.Exposed(); warning != "" {
		run.Log.Warnf("%s", warning)
	}
	t := &trainer{run: run, config: run.Config, peers: peers}
	if err := peers.InTurn(func() error { t.task, err = readTexts(s, peers); return err }); err != nil {
		run.Abandon()
		return run, err
	}
	scope := torch.OpenScope() // closes what a panic leaves open
	defer scope.Close()
	if err = command.Guard(func() error { return t.prepare(device) }); err != nil {
		run.Abandon()
	} else {
		err = command.Guard(func() error { return t.train(ctx) })
	}
	held = t.held(device)
	t.free()
	return run, err
}

// agree refuses processes of other programs and settings than rank 0's; each machine keeps its files where it likes.
func agree(s *experiment.Settings, env record.Env, peers *parallel.Peers) error {
	c := s.Config
	c.Data.Dir, c.Data.Store, c.Train.Device, c.Train.Threads = "", "", "", 0
	threads := 0
	if env.Device == string(torch.CPU) { // where sums over a weight's numbers round by them
		threads = env.Threads
	}
	return peers.Agree("version or setting", fmt.Sprintf("commit %s, csrc %s, libtorch %s, %s\n-resume=%v\n-threads=%d\n%s",
		env.Code.Commit, torch.CSRCDigest(), env.Versions["libtorch"], env.ISA, s.Resume(), threads, c.TOML()))
}

// agreeOnTexts refuses processes that read other texts than rank 0, by their SHA-256.
func agreeOnTexts(sums map[string]string, peers *parallel.Peers) error {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintln(&lines, name, sums[name])
	}
	return peers.Agree("text", lines.String())
}

func readTexts(s *experiment.Settings, peers *parallel.Peers) (task, error) {
	if s.Config.Task() == experiment.Translation {
		folder := ""
		if _, err := os.Stat(filepath.Join(s.Out, experiment.TokenizerDir)); s.Resume() && err == nil {
			folder = s.Out
		}
		return readTranslation(s.Config, folder, peers)
	}
	folder := s.Config.Train.Init // its vocabulary is this run's
	if s.Resume() {
		// A run that ended while it read its texts has no vocabulary yet.
		if _, err := language.ReadWords(s.Out); !errors.Is(err, fs.ErrNotExist) {
			folder = s.Out
		}
	}
	return readLanguage(s.Config, folder, peers)
}

// advise says what to do where there was not enough memory, and what held it.
func advise(s *experiment.Settings, err error, held string) error {
	then := "lower train.max_tokens and raise train.accumulate by the same factor, or make the model smaller"
	switch {
	case s.Resume():
		then = "resume where there is more, or with -set=train.recompute=true, which a network of attention can do with less"
	case s.Config.Task() == experiment.LanguageModel:
		then = "raise train.accumulate, lower train.columns or train.bptt, or make the model smaller"
	}
	return torch.AdviseOnMemory(err, held+": "+then)
}

// held says what tensors held at their most, the largest part first.
func (t *trainer) held(device torch.Device) string {
	if t.Params == nil {
		return ""
	}
	weights := 4 * t.Params.Count()
	most := torch.PeakDeviceBytes(device)
	kept := map[string]int64{"weights": weights, "their gradients": weights}
	rest := most - 2*weights
	if t.adam != nil {
		kept["the optimizer's moments"] = 2 * weights
		rest -= 2 * weights
	}
	if t.ema != nil || t.asgd != nil {
		kept["averages"] = weights
		rest -= weights
	}
	kept["a batch"] = max(0, rest)
	parts := slices.SortedFunc(maps.Keys(kept), func(a, b string) int { return cmp.Compare(kept[b], kept[a]) })
	for i, name := range parts {
		parts[i] = fmt.Sprintf("%s %d", name, kept[name]>>20)
	}
	return fmt.Sprintf(", where tensors held up to %d MiB, of it %s", most>>20, strings.Join(parts, ", "))
}

func (t *trainer) train(ctx context.Context) error {
	if t.config.Train.Init != "" && t.state.Best == nil && t.state.Step == 0 {
		if err := t.scoreStart(); err != nil {
			return err
		}
	}
	t.run.Log.StartBar(int64(t.total()), int64(t.state.Step))
	t.began, t.beganStep = time.Now(), t.state.Step
	err := t.loop(ctx)
	t.run.Log.StopBar()
	if err != nil {
		return err
	}
	return t.finish(ctx)
}

// prepare builds all that the loop needs, fresh or from the newest checkpoint.
func (t *trainer) prepare(device torch.Device) error {
	c := t.config
	if err := t.run.CheckData(t.task.sums()); err != nil {
		return err
	}
	if err := agreeOnTexts(t.task.sums(), t.peers); err != nil {
		return err
	}
	t.store = checkpoint.Store{
		Dir: t.run.Path(experiment.CheckpointsDir), Keep: max(c.Checkpoint.Keep, c.Train.AverageLast),
		Passing: func(step int) bool { return !t.scheduled(step) }, ReadOnly: !t.peers.First(),
	}
	if c.Train.Init == "" { // else that run's tokenizer folder has what the method made of its files
		t.run.HashFiles(c.Objective.Files())
	}
	newest, fresh, err := parallel.Newest(t.peers, t.store, t.warn)
	if err != nil {
		return err
	}
	build := func() error { t.network, err = t.task.build(t.run, fresh, device); return err }
	if err := t.peers.InTurn(build); err != nil {
		return err
	}
	if _, err := t.run.Files(); err != nil {
		return err
	}
	if c.Train.Init != "" && fresh {
		if err := t.warmStart(c.Train.Init); err != nil {
			return err
		}
	}
	t.start() // which copies the weights, where an average of them is kept
	carried := map[string]torch.Tensor{}
	scope := torch.OpenScope()
	defer scope.Close()
	if !fresh {
		if carried, err = t.restore(newest); err != nil {
			return err
		}
		t.run.Log.Printf("continuing from %s", newest.Name())
	}
	if t.updates, err = t.task.updates(t.state.Position, carried); err != nil {
		return err
	}
	if t.sync, err = parallel.NewSync(t.peers, t.Params.Tensors(), t.streams, t.rehearse, c.Train.Recompute); err != nil {
		return err
	}
	if !fresh {
		if err := t.restoreBest(); err != nil {
			return err
		}
	}
	if !t.peers.First() {
		return nil
	}
	last := int64(t.state.Step)
	if fresh {
		last = -1 // a process that was killed at the start may have scored it
	}
	if err := t.run.TruncateMetrics(last); err != nil {
		return err
	}
	if t.metrics, err = report.OpenMetrics(t.run.Path(experiment.MetricsFile)); err != nil {
		return err
	}
	if c.Report.TensorBoard {
		if t.events, err = report.NewEvents(t.run.Path(experiment.EventsDir), last); err != nil {
			return err
		}
	}
	for _, folder := range []string{experiment.SamplesDir, experiment.PlotsDir} {
		if err := os.MkdirAll(t.run.Path(folder), 0o777); err != nil {
			return err
		}
	}
	debug.FreeOSMemory() // what reading the texts and target vectors took can be a multiple of what is kept
	t.introduce()
	return nil
}

func (t *trainer) warn(w checkpoint.Warning) { t.run.Log.Warnf("%s", w) }

func (t *trainer) start() {
	c := t.config.Train
	params := t.Params.Tensors()
	scope := torch.OpenScope()
	defer scope.Close()
	if c.Optimizer != "sgd" {
		t.adam = torch.NewAdam(params, torch.AdamOptions{
			Beta1: c.Beta1, Beta2: c.Beta2, Epsilon: c.Epsilon, WeightDecay: c.WeightDecay,
			Decoupled: c.Optimizer != "adam", Rectified: c.Optimizer == "radam",
			FairseqEpsilon: c.EpsilonPlacement == "fairseq",
		})
		if c.Optimizer == "coupled-adam" {
			t.adam.Couple(t.Output.WordMatrix())
		}
	}
	if c.EMADecay > 0 {
		t.ema = t.copies()
		torch.Keep(t.ema...)
	}
	t.dropout = torch.NewStream(uint64(c.Seed), "dropout")
	t.streams = map[string]*torch.Stream{"dropout": t.dropout}
	maps.Copy(t.streams, t.Output.Streams())
	t.state.Factor, t.state.Optimizer = 1, c.Optimizer
	if c.ASGD == "finetune" {
		t.beginAveraging()
	}
	t.state.Vocabulary = t.task.vocabularies()
}

func (t *trainer) introduce() {
	log := t.run.Log
	for _, line := range t.task.introduce() {
		log.Printf("%s", line)
	}
	if advice := torch.UnusedGPU(); advice != "" && t.config.Train.Device == "auto" {
		log.Warnf("%s", advice)
	}
	log.Printf("%d parameters; method %s", t.Params.Count(), t.config.Objective.Method)
	if n, before := t.peers.Count(), max(1, t.state.Processes); n > 1 || before > 1 {
		line := fmt.Sprintf("%d processes share the %d batches of an update", n, t.config.Train.Batches())
		if t.state.Step > 0 && n != before {
			line += fmt.Sprintf(", as %d did before", before)
		}
		log.Printf("%s", line)
	}
	epoch, all := t.updates.Count(1), openEnd
	if n := t.total(); n > 0 {
		all = fmt.Sprintf("%d in all", n)
	}
	log.Printf("%d updates an epoch, %s, about %d target tokens each; device %s, %d threads",
		epoch, all, t.task.tokens()/epoch, t.Device, torch.Threads())
	if why := t.state.Stopped; why != "" {
		if t.config.Train.ASGD != "finetune" {
			why += fmt.Sprintf("; to train on, raise train.patience (now %d)", t.config.Train.Patience)
		}
		log.Printf("training has ended early: %s", why)
	}
}

// openEnd is the length of a run that has neither train.steps nor train.epochs.
const openEnd = "until validation stalls"

func (t *trainer) free() {
	if t.metrics != nil {
		t.metrics.Close()
	}
	if t.events != nil {
		t.events.Close()
	}
	if t.adam != nil {
		t.adam.Free()
	}
	if t.asgd != nil {
		t.asgd.Free()
	}
	torch.Free(t.ema...)
	t.sync.Free()
	torch.Free(t.sums...)
	if t.updates != nil {
		t.updates.Close()
	}
	t.task.free()
}
