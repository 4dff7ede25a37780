package parallel

import (
	"runtime"
	"strings"
	"testing"

	"github.com/aperture-ml/aperture/tokenize/corpus"
)

func TestFromEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		set     map[string]string
		want    Environment
		problem string
	}{
		"alone":      {},
		"one of one": {set: map[string]string{"RANK": "0", "WORLD_SIZE": "1"}},
		"torchrun": {set: map[string]string{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1",
			"LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "29500", "TORCHELASTIC_USE_AGENT_STORE": "True",
			"TORCHELASTIC_RESTART_COUNT": "1"},
			want: Environment{Share: share(3, 4), LocalRank: 1, LocalSize: 2, Address: "a", Port: 29500,
				Served: true, Prefix: "aperture/1/"}},
		"PyTorchJob": {set: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "b",
			"MASTER_PORT": "23456"}, want: Environment{Share: share(1, 2), LocalSize: 1, Address: "b", Port: 23456,
			Prefix: "aperture//"}},
		"srun": {set: map[string]string{"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1",
			"SLURM_STEP_ID": "0", "SLURM_JOB_NODELIST": "node[07-09,12],login1", "MASTER_PORT": "1234"},
			want: Environment{Share: share(5, 8), LocalRank: 1, LocalSize: 1, Address: "node07", Port: 1234,
				Prefix: "aperture/"}},
		"srun, one": {set: map[string]string{"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0",
			"SLURM_LAUNCH_NODE_IPADDR": "10.0.0.1", "MASTER_PORT": "1234"},
			want: Environment{Share: share(1, 2), LocalSize: 1, Address: "10.0.0.1", Port: 1234,
				Prefix: "aperture/"}},
		"batch script": {set: map[string]string{"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_JOB_NODELIST": "n1"}},
		"nowhere":      {set: map[string]string{"RANK": "0", "WORLD_SIZE": "2"}, problem: "MASTER_ADDR"},
		"one machine": {set: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
			"MASTER_ADDR": "b", "MASTER_PORT": "1"},
			want: Environment{Share: share(1, 2), LocalSize: 2, Address: loopback, Port: 1, Prefix: "aperture//"}},
		"srun, a node": {set: map[string]string{"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0",
			"SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_NODELIST": "n1", "MASTER_PORT": "1"},
			want: Environment{Share: share(1, 2), LocalSize: 1, Address: loopback, Port: 1, Prefix: "aperture/"}},
		"short token": {set: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "b", "MASTER_PORT": "1",
			tokenVariable: "secret"}, problem: "APERTURE_GROUP_TOKEN has 6 characters: it wants at least 16"},
		"no port": {set: map[string]string{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "b", "MASTER_PORT": "70000"},
			problem: "MASTER_PORT is 70000: it wants a port, from 1 to 65535"},
		"no number": {set: map[string]string{"RANK": "first", "WORLD_SIZE": "2"}, problem: `RANK = "first"`},
		"too high rank": {set: map[string]string{"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "a",
			"MASTER_PORT": "1"}, problem: "rank 2 of 2"},
		"too high rank of one": {set: map[string]string{"RANK": "5", "WORLD_SIZE": "1"}, problem: "rank 5 of 1"},
		"no processes":         {set: map[string]string{"RANK": "0", "WORLD_SIZE": "0"}, problem: "rank 0 of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
				"MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE",
				"TORCHELASTIC_RESTART_COUNT", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_ID",
				"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", tokenVariable, "SLURM_JOB_NODELIST",
				"SLURM_STEP_NODELIST", "SLURM_LAUNCH_NODE_IPADDR", launched} {
				t.Setenv(variable, c.set[variable])
			}
			got, err := FromEnvironment()
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("the error is %v, and should say %q", err, c.problem)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%+v (%v), want %+v", got, err, c.want)
			}
		})
	}
}

// A process by itself shares nothing, and needs no store.
func TestByItself(t *testing.T) {
	var p *Peers
	all, err := Shared(p, []int{3, 1, 2}, func(i int) (int, error) { return i * i, nil })
	if err != nil || len(all) != 3 || all[2] != 4 || !p.First() || p.Count() != 1 {
		t.Errorf("%v (%v)", all, err)
	}
	if err := p.Agree("setting", "any"); err != nil {
		t.Error(err)
	}
	if x, err := p.Any(9); x != 9 || err != nil {
		t.Errorf("%v (%v)", x, err)
	}
	if err := p.Leave(nil, false); err != nil {
		t.Error(err)
	}
}

func share(rank, size int) corpus.Share { return corpus.Share{Rank: rank, Size: size} }

// TestPlace: a command starts the processes that it was asked for, where no launcher did and a machine has use for
// them.
func TestPlace(t *testing.T) {
	most := crowd * runtime.NumCPU()
	for _, c := range []struct {
		processes, launch int
		size, problem     string
		plan              bool
	}{
		{processes: 1},
		{processes: 2, launch: 2},
		{processes: most, launch: most},
		{processes: 0, problem: "-processes=0: it wants at least 1"},
		{processes: most + 1, problem: "name fewer"},
		{processes: most + 1, launch: most + 1, plan: true},
		{processes: 2, size: "3", problem: "this is already one of 3"},
	} {
		for _, variable := range []string{"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", launched} {
			t.Setenv(variable, "")
		}
		t.Setenv("WORLD_SIZE", c.size)
		if c.size != "" {
			t.Setenv("RANK", "0")
			t.Setenv("MASTER_ADDR", "a")
			t.Setenv("MASTER_PORT", "1")
		}
		_, launch, err := Place(c.processes, c.plan)
		if c.problem == "" && (err != nil || launch != c.launch) {
			t.Errorf("%+v gives %d, %v", c, launch, err)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%+v gives %v", c, err)
		}
	}
}
