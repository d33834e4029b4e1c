package main

import (
	"github.com/spf13/pflag"

	"textskill/dialect"
	"textskill/skill"
)

type modelOptions struct{}

func (m *modelOptions) addFlags(f *pflag.FlagSet) {
	f.String("fallback", "", "")
	f.Bool("trust-llm", false, "")
}

func (m *modelOptions) fallback(*cli, *skill.Executor, *options) (dialect.Fallback, error) {
	return nil, nil
}

type confirmation struct{}

func (*confirmation) Error() string { return "" }

type scriptedAgent struct {
	replies, prompts []string
	err              error
}
