// Package agent runs experts: it asks a model what to do, carries out the tool
// calls of the answer, records what happened, and repeats that until the model
// says that the work is done or a limit is reached.
//
// A run is the work on one query, from [Run] to the last event. It consists of tasks.
// A task is the work of one expert on one query, with its own conversation. The first
// task is the query of the run. An expert starts further tasks when it delegates, and
// waits for their reports. A task consists of steps. In a step the model answers, the
// package carries out the tool calls, and records a [Checkpoint]. Steps are counted over
// the whole run.
//
//	run.go         Run
//	config.go      its configuration
//	task.go        one task: its steps and how they end
//	act.go         the tool calls of one answer
//	written.go     the calls that a model writes into its text
//	report.go      the final report
//	schema.go      the JSON Schema that it fits
//	words.go       the model's words as they come
//	delegate.go    tasks that one expert gives to another
//	budget.go      limits of a run
//	compact.go     making room in the model's window
//	generate.go    asking the model, and again where that may help
//	skill.go       the toolbox of an expert: where tools come from
//	skill_base.go  the Base Skill, which every expert has
//	builtin.go     further tools that are built in
//	skill_mcp.go   MCP servers
//	event.go       what Run reports
//	recorder.go    when an event counts: after the disk
//	files.go       the files of an earlier step
//	checkpoint.go  the state of a run at the end of a step
//	records.go     reading what was recorded
//	resume.go      where an interrupted run continues
//	check.go       which records are damaged
//	store.go       recording
//	sums.go        which records this program wrote
//	lease.go       the one owner of a run
//	project.go     perstack.toml
//	powers.go      what of it acts on the user
//	model.go       what a model is asked and answers
//	price.go       what models cost
//
// The models of the providers are in package provider.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"textskill/skill"
	"textskill/skill/dialect"
)

// Run gives the query to an expert and reports what happens, in order. The run
// ends after an event that begins with StopRun, the CompleteRun of its expert, or
// with an error, which comes last and alone: that of the model after StopRunByError,
// context.Cause once ctx is done, else one that kept the run from starting or
// being recorded. When ctx is done or the caller stops listening, the step under
// way is given up, and the run can be continued from the checkpoint before it.
//
// The query may be empty only where From can be gone on from without one.
func Run(ctx context.Context, cfg Config, query string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r, err := newRun(ctx, cfg)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer r.recorder.store.close()
		r.recorder.yield = yield
		if err := r.work(ctx, query); err != nil && err != errEnough {
			r.recorder.yield(Event{}, err)
		}
	}
}

// errEnough says that nobody listens any more.
var errEnough = errors.New("the caller stopped listening")

var errNoQuery = errors.New("Input message is undefined")

// A run holds what begins its tasks, and what they share.
type run struct {
	cfg         Config
	id          string
	records     Records       // of what is continued
	unconfirmed bool          // nothing confirms these
	from        *position     // where it is continued; nil for a new run
	schema      *reportSchema // of the report; nil for none
	recorder    recorder
	asker       asker
}

func newRun(ctx context.Context, cfg Config) (*run, error) {
	cfg.complete()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	continued := cfg.continued()
	r := &run{cfg: cfg, id: cmp.Or(continued, cfg.RunID, newID())}
	r.asker = asker{model: cfg.Model, timeout: cfg.Timeout, clean: cfg.clean,
		spent: spending{Budget: cfg.Budget, start: time.Now()}, window: cfg.About.ContextWindow}
	if err := checkRunID(r.id); err != nil {
		return nil, err
	}
	if r.cfg.clean.Text(r.id) != r.id {
		return nil, errors.New("the run id holds a credential, which would be recorded; choose another")
	}
	var err error
	if r.schema, err = resolveSchema(cfg.Schema); err != nil {
		return nil, err
	}
	if r.recorder.store, err = openStore(ctx, cfg.Executor, r.id); err != nil {
		return nil, err
	}
	r.recorder.store.point, r.recorder.store.wrote = cfg.point, cfg.Recorded
	switch {
	case continued != "":
		err = r.takeUp(ctx)
	case r.recorder.store.exists(ctx):
		err = r.recorder.store.takenError()
	}
	if err != nil {
		r.recorder.store.close()
		return nil, err
	}
	first := 1
	if r.from != nil {
		first = cmp.Or(r.from.step, r.from.StepNumber+1)
	}
	if cfg.MaxSteps > 0 {
		r.asker.spent.limit = first + cfg.MaxSteps - 1
	}
	return r, nil
}

// takeUp makes this process the owner of the run that is continued. Only then is the
// run's state read, because an owner before may have changed it until then.
func (r *run) takeUp(ctx context.Context) error {
	if r.recorder.store.x != nil && !r.recorder.store.exists(ctx) {
		return ErrNoCheckpoint
	}
	if err := r.recorder.store.lease(ctx, r.cfg.TakeOver); err != nil {
		return err
	}
	known, err := false, error(nil)
	if r.records, known, err = (Records{Executor: r.cfg.Executor}).Confirmed(r.id); err != nil {
		return err
	}
	r.unconfirmed = !known
	switch {
	case r.recorder.store.x == nil:
	case known:
		err = r.recorder.store.dropUnwritten(ctx, r.records)
	default:
		r.cfg.Warn("nothing confirms the records of the run: it was recorded on another machine or by an older version, or others wrote them")
	}
	if err != nil {
		return err
	}
	if r.cfg.From != nil {
		r.from = &position{Checkpoint: *r.cfg.From}
		if r.unconfirmed || r.records.adoptedCheckpoint(r.cfg.From.ID) {
			r.note(unconfirmed)
		}
		return nil
	}
	return r.takeUpRecords(ctx)
}

// note puts a text before the caller's Note to the expert.
func (r *run) note(text string) { r.cfg.Note = strings.TrimSpace(text + " " + r.cfg.Note) }

// again returns a command line about the same workspace.
func (r *run) again(command string, words ...string) string {
	if r.cfg.Again != nil {
		return r.cfg.Again(command, words...)
	}
	return strings.Join(append([]string{r.cfg.Executor.Program(), command}, words...), " ")
}

// work is Run once everything is ready.
func (r *run) work(ctx context.Context, query string) error {
	t, err := r.begin(ctx, query)
	if err != nil {
		return err
	}
	defer func() {
		for ; t != nil; t = t.parent {
			t.box.close()
		}
	}()
	if t, err = t.openOrReport(ctx); err != nil {
		return err
	}
	if err := r.openFiles(ctx); err != nil {
		return err
	}
	if err := r.enter(ctx, query); err != nil {
		return err
	}
	t.note = r.cfg.Note
	for {
		if err := t.work(ctx); err != nil {
			return err
		}
		next, err := r.next(t)
		if err != nil || next == nil {
			return err
		}
		if t, err = next.openOrReport(ctx); err != nil {
			return err
		}
	}
}

// enter records that the run starts or goes on with a query.
func (r *run) enter(ctx context.Context, query string) error {
	if r.unconfirmed && r.recorder.store.x != nil {
		if err := r.recorder.store.adopt(ctx); err != nil {
			return err
		}
		r.recorder.adopting = true
	}
	write := r.recorder.store.createSetting
	if r.from != nil {
		write = r.recorder.store.updateSetting
	}
	if r.from != nil && !r.unconfirmed {
		r.learn(ctx)
	}
	r.from, r.cfg.From = nil, nil // the task has their conversation, until it compacts it
	s := r.asker.setting(&r.cfg, r.id, query)
	if err := write(ctx, s, r.cfg.clean); err != nil {
		return err
	}
	r.recorder.rules, r.recorder.window = len(s.Rules), s.Window
	return nil
}

// begin returns the task that the run starts or continues with.
func (r *run) begin(ctx context.Context, query string) (*task, error) {
	if r.from != nil && r.from.setting == nil {
		return r.resume(ctx, *r.from, query)
	}
	if r.from != nil {
		return r.restart(*r.from.setting, query)
	}
	expert, err := r.expert(r.cfg.Expert)
	if err == nil && query == "" {
		err = errNoQuery
	}
	return r.start(expert, nil, query, 1), err
}

// expert returns an expert by its key.
func (r *run) expert(key string) (Expert, error) {
	return Project{Experts: r.cfg.Experts}.Expert(key)
}

// start returns a new task, whose first step is given.
func (r *run) start(e Expert, parent *task, query string, step int) *task {
	t := r.newTask(e, parent)
	t.cp = Checkpoint{ID: newID(), StepNumber: step, Status: Init}
	t.query = &query
	return t
}

// restart returns the first task of a run that was interrupted before its first event. A
// query of the continuation is added to that of the run.
func (r *run) restart(s RunSetting, query string) (*task, error) {
	if s.ExpertKey != r.cfg.Expert {
		return nil, expertMismatch(s.ExpertKey, r.cfg.Expert)
	}
	if r.cfg.Answer {
		return nil, errNoAnswer
	}
	e, err := r.expert(s.ExpertKey)
	t := r.start(e, nil, s.Input.Text, 1)
	if query != "" {
		t.recovered = []Message{newMessage(UserMessage, textPart(s.Input.Text))}
		t.query = &query
	}
	return t, err
}

func expertMismatch(recorded, given string) error {
	return fmt.Errorf("Checkpoint expert key %s does not match input expert key %s", recorded, given)
}

var errNoAnswer = errors.New("the run waits for no answer; leave -i out to go on")

// resume returns the task that a position is of, with the tasks that wait for its report
// as parents.
func (r *run) resume(ctx context.Context, from position, query string) (*task, error) {
	parent, err := r.waitingParent(ctx, from.Checkpoint)
	if err != nil {
		return nil, err
	}
	e, err := r.expert(from.Expert.Key)
	if err != nil {
		return nil, err
	}
	t := r.newTask(e, parent)
	t.last = &from.Checkpoint
	from.restore(t.box.session)
	reports := from.Status == StoppedByDelegate || from.Status == Completed && parent != nil
	if err := r.checkQuery(from, query, reports); err != nil {
		return nil, err
	}
	switch {
	case from.step > 0:
		t.resumeWithin(from, query)
		return t, nil
	case r.cfg.Answer:
		return t, t.resumeWith(query)
	case reports:
		next, err := r.next(t)
		if err == nil && next == nil {
			err = errors.New("there is no step left to go on with")
		}
		return next, err
	case query != "":
		t.query = &query
	}
	t.resumeAt(from.StepNumber + 1)
	return t, nil
}

// waits reports whether the run goes on with the result of a call alone, which is given.
func (p position) waits(given bool) bool {
	return p.Status == StoppedByInteractiveTool || p.Status == StoppedByDelegate && given
}

// checkQuery refuses a query where the run does not wait for one, and the lack of one. reports says
// that the run goes on with the report of a task.
func (r *run) checkQuery(from position, query string, reports bool) error {
	answered := r.cfg.Answer
	waits := from.waits(answered)
	switch {
	case answered && (!waits || from.step > 0):
		return errNoAnswer
	case from.step > 0:
		return nil
	case waits && !answered:
		return fmt.Errorf("the run waits for the result of %s; give it as the query with -i",
			from.pendingToolName())
	case waits && query == "":
		return errNoQuery
	case !waits && reports && query != "":
		return errors.New("the run is in the middle of a delegation; go on without a query")
	case !waits && !reports && query == "" && from.Status == Completed:
		return errors.New("the run is completed; to go on, give it a query too")
	}
	return nil
}

// newTask returns a task of an expert. Its report goes to the parent, or to the user if that is nil.
func (r *run) newTask(e Expert, parent *task) *task {
	s := &skill.Session{Guard: r.cfg.Executor.Config().Guard}
	for _, c := range e.Skills {
		if c.Type == builtinSkill {
			s.Guard = cmp.Or(s.Guard, dialect.Named(c.Dialect).Guard)
		}
	}
	t := &task{cfg: &r.cfg, recorder: &r.recorder, asker: &r.asker, parent: parent,
		box: &toolbox{cfg: &r.cfg, expert: e, session: s}}
	if parent == nil {
		t.schema = r.schema
	}
	return t
}

// learn gives the model what the run has learned of it before.
func (r *run) learn(ctx context.Context) {
	s, err := r.records.Setting(ctx, r.id)
	m, ok := r.cfg.Model.(Learner)
	if err != nil || !ok || !s.sameModel(r.asker.setting(&r.cfg, r.id, "")) {
		return
	}
	m.Learn(s.Rules)
	if s.Window >= MinWindow {
		r.asker.window = cmp.Or(r.asker.window, s.Window)
	}
}
