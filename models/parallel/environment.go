package parallel

import (
	"fmt"
	"hash/fnv"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

// Settings are the keys of the section train that are about processes.
type Settings struct {
	Processes int `toml:"processes" default:"1" range:"[1,100000]" help:"processes that the run began with; an update has accumulate times this number of batches, whatever the number of processes now; -processes and launchers set it"`
	Silence   int `toml:"silence" default:"60" range:"[1,86400]" resume:"free" help:"with several processes, seconds without a sign of life of one after which the others end"`
}

// Environment says which place a process has among others.
type Environment struct {
	corpus.Share
	LocalRank int // among the processes of its machine
	LocalSize int // how many its machine has, 1 where nobody says
	Address   string
	Port      int  // where the store is
	Served    bool // the store is served by whoever started the processes, or else by rank 0
	// the secret of the run's processes, without which nobody reaches rank 0's store; empty: everybody does
	Token    string
	Prefix   string // of this attempt's keys
	Launched bool   // by Launch
}

// launched is what Launch tells the processes that it starts.
const launched = "APERTURE_LAUNCHED"

// FromEnvironment reads the variables RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
// torchrun and PyTorchJob set them, or those of a step of Slurm, and APERTURE_GROUP_TOKEN. The zero Environment, of
// size 0, is a process by itself.
func FromEnvironment() (Environment, error) {
	e := Environment{LocalSize: 1, Prefix: "aperture/", Address: os.Getenv("MASTER_ADDR"),
		Launched: os.Getenv(launched) != "", Token: os.Getenv(tokenVariable)}
	var r variables
	switch {
	case os.Getenv("RANK") != "" && os.Getenv("WORLD_SIZE") != "":
		e.Rank, e.Size, e.LocalRank = r.number("RANK"), r.number("WORLD_SIZE"), r.number("LOCAL_RANK")
		e.LocalSize = max(1, r.number("LOCAL_WORLD_SIZE"))
		e.Served = os.Getenv("TORCHELASTIC_USE_AGENT_STORE") == "True"
		e.Prefix += os.Getenv("TORCHELASTIC_RESTART_COUNT") + "/" // what an earlier attempt left does not count
	case os.Getenv("SLURM_PROCID") != "" && os.Getenv("SLURM_NTASKS") != "" &&
		(os.Getenv("SLURM_STEP_ID") != "" || e.Address != ""):
		// A batch script has these variables too, and is no step: what it runs without srun is a process by itself.
		e.Rank, e.Size, e.LocalRank = r.number("SLURM_PROCID"), r.number("SLURM_NTASKS"), r.number("SLURM_LOCALID")
		if n := r.number("SLURM_STEP_NUM_TASKS"); n > 0 {
			e.Size = n
		}
		if e.Address == "" {
			e.Address = slurmHost()
		}
		if os.Getenv("MASTER_PORT") == "" {
			h := fnv.New32a()
			h.Write([]byte(os.Getenv("SLURM_JOB_ID") + "." + os.Getenv("SLURM_STEP_ID")))
			e.Port = 20000 + int(h.Sum32()%10000)
		}
	default:
		return Environment{}, nil
	}
	if r.err == nil && (e.Rank < 0 || e.Rank >= e.Size) {
		r.err = fmt.Errorf("rank %d of %d processes: ranks begin with 0 and are below the number of processes; check "+
			"RANK and WORLD_SIZE, or SLURM_PROCID and SLURM_NTASKS", e.Rank, e.Size)
	}
	if e.Size == 1 || r.err != nil {
		return Environment{}, r.err
	}
	if e.Port == 0 {
		e.Port = r.number("MASTER_PORT")
	}
	if e.LocalSize == e.Size && !e.Served {
		e.Address = loopback
	}
	switch {
	case r.err != nil:
	case e.Address == "" || e.Port == 0:
		r.err = fmt.Errorf("%d processes cannot meet: MASTER_ADDR (%q) and MASTER_PORT (%d) must name the host of "+
			"rank 0 and a free port there", e.Size, e.Address, e.Port)
	case e.Port < 0 || e.Port > math.MaxUint16:
		r.err = fmt.Errorf("MASTER_PORT is %d: it wants a port, from 1 to %d", e.Port, math.MaxUint16)
	case e.Token != "" && len(e.Token) < shortestToken:
		r.err = fmt.Errorf("%s has %d characters: it wants at least %d, as from openssl rand -hex 32", tokenVariable,
			len(e.Token), shortestToken)
	}
	return e, r.err
}

// Exposed warns of a store that strangers can reach; it is empty where they cannot.
func (e Environment) Exposed() string {
	at := net.JoinHostPort(e.Address, strconv.Itoa(e.Port))
	switch {
	case e.Size == 0 || e.Launched:
		return ""
	case e.Served:
		return fmt.Sprintf("the launcher's store at %s obeys whoever reaches it, and %s does not change that: see "+
			"that only this run's hosts reach it (docs/scale.md)", at, tokenVariable)
	case e.Token != "" || net.ParseIP(localAddress(e)).IsLoopback():
		return ""
	}
	return fmt.Sprintf("whoever reaches %s can end this run: set %s to the same secret on all hosts, as from openssl "+
		"rand -hex 32 (docs/scale.md)", at, tokenVariable)
}

// crowd is how many processes one processor may have: more train no faster, and take a machine's memory.
const crowd = 8

// Place is FromEnvironment for a command that was asked to train by the given number of processes: launch is how many
// it has to start, 0 where it is one of them, or the only one. A plan starts none, and may be of a larger machine.
func Place(processes int, plan bool) (e Environment, launch int, err error) {
	e, err = FromEnvironment()
	switch {
	case err != nil || e.Launched:
	case processes < 1:
		err = fmt.Errorf("-processes=%d: it wants at least 1", processes)
	case processes > 1 && e.Size > 0:
		err = fmt.Errorf("-processes=%d starts processes, and this is already one of %d (WORLD_SIZE or SLURM_NTASKS): "+
			"leave it out", processes, e.Size)
	case processes > crowd*runtime.NumCPU() && !plan:
		err = fmt.Errorf("-processes=%d: this machine takes at most %d, %d for each processor: name fewer", processes,
			crowd*runtime.NumCPU(), crowd)
	case processes > 1:
		launch = processes
	}
	return e, launch, err
}

// variables reads numbers and keeps the first error.
type variables struct{ err error }

// number is a variable's, 0 where it is not set.
func (r *variables) number(name string) int {
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("the environment variable %s = %q is no number", name, text)
	}
	return n
}

// slurmHost is the host of rank 0: the first of the step's or the job's nodes, as in "node[07-09,12],login1", or where
// srun runs.
func slurmHost() string {
	if os.Getenv("SLURM_STEP_NUM_NODES") == "1" {
		return loopback
	}
	for _, name := range []string{"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"} {
		list := os.Getenv(name)
		if list == "" {
			continue
		}
		prefix, rest, several := strings.Cut(list, "[")
		if !several || strings.Contains(prefix, ",") {
			return strings.Split(list, ",")[0]
		}
		numbers, suffix, _ := strings.Cut(rest, "]")
		suffix, _, _ = strings.Cut(suffix, ",")
		return prefix + strings.FieldsFunc(numbers, func(c rune) bool { return c == ',' || c == '-' })[0] + suffix
	}
	return os.Getenv("SLURM_LAUNCH_NODE_IPADDR")
}
