package skill

import (
	"context"
	"time"
)

// plansFile holds the plans, as records, at the workspace's root.
const plansFile = ".plans.json"

// CreatePlan appends a pending plan with a new id. It returns a [Recorded].
type CreatePlan struct {
	Goal  string
	Steps []string
}

// ExecutePlan marks a plan as executing. It does not run the steps. It returns a
// [Recorded].
type ExecutePlan struct{ ID string }

func (CreatePlan) op()  {}
func (ExecutePlan) op() {}

func (x *Executor) CreatePlan(ctx context.Context, _ *Session, a CreatePlan) (Recorded, error) {
	var made Record
	c, err := x.changeRecords(ctx, plansFile, true, func(list []Record) ([]Record, error) {
		made = Record{
			newField("id", newID(list)), newField("goal", a.Goal),
			newField("steps", append([]string{}, a.Steps...)),
			newField("status", "pending"), newField("created", localTime(time.Now())),
		}
		return append(list, made), nil
	})
	return Recorded{Changed{Change: c}, made}, err
}

func (x *Executor) ExecutePlan(ctx context.Context, _ *Session, a ExecutePlan) (Recorded, error) {
	return x.changeRecord(ctx, plansFile, "plan", a.ID, []Field{
		newField("status", "executing"), newField("started", localTime(time.Now())),
	})
}
