package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

const deploy = "../../skill/fleet/deploy/"

// taken takes every command line.
func taken([]string) error { return nil }

func TestManifests(t *testing.T) {
	tests := []struct {
		file  string
		check func(context.Context, []byte, program) []error
		old   string // what is replaced
		new   string
		want  string // part of a problem; "" for none
	}{
		{"compose.yaml", compose, "", "", ""},
		{"compose.yaml", compose, "    cap_drop: [ALL]\n", "    privileged: true\n",
			"rights over the machine"},
		{"compose.yaml", compose, "healthcheck:", "healthchek:", "healthchek"},
		{"compose.yaml", compose, "sync_interval: always", `sync_interval: "2m"`,
			"sync_interval is not always"},
		{"compose.yaml", compose, "jetstream {", "jetstream {{", "nats.conf"},
		{"compose.yaml", compose, "nats://nats-2:6222]", "nats://nats-3:6222]", "routes are"},
		{"compose.yaml", compose, `volumes: ["nats-2:/data"]`, `volumes: ["nats-1:/data"]`,
			"share the volume"},
		{"compose.yaml", compose, "store_dir: /data", "store_dir: /tmp", "is no volume"},
		{"compose.yaml", compose, "127.0.0.1:4222:4222", "4222:4222", "open to other machines"},
		{"compose.yaml", compose, "@nats-2:4222", "@nats-1:4222", "NATS_URL leads to"},
		{"compose.yaml", compose, "      nats-2: { condition: service_healthy }\n", "",
			"does not wait for nats-2"},
		{"kubernetes.yaml", kubernetes, "", "", ""},
		{"kubernetes.yaml", kubernetes, "podManagementPolicy", "podManagmentPolicy", "unknown field"},
		{"kubernetes.yaml", kubernetes, "allowPrivilegeEscalation: false", "privileged: true",
			"rights over the machine"},
		{"kubernetes.yaml", kubernetes, "      labels:\n        app: worker",
			"      labels:\n        app: wrker", "does not match"},
		{"kubernetes.yaml", kubernetes, "  selector:\n    app: nats", "  selector:\n    app: natz",
			"Service nats: no pods"},
		{"kubernetes.yaml", kubernetes, "sync_interval: always", `sync_interval: "2m"`,
			"sync_interval is not always"},
		{"kubernetes.yaml", kubernetes, "nats://nats-2.nats:6222]", "nats://nats-2:6222]", "routes are"},
		{"kubernetes.yaml", kubernetes, "replicas: 3\n  podM", "replicas: 5\n  podM", "5 nodes, not 3"},
		{"kubernetes.yaml", kubernetes, "clusterIP: None", "clusterIP: 10.0.0.1", "no headless Service"},
		{"kubernetes.yaml", kubernetes, "mountPath: /data", "mountPath: /dat", "is no volume"},
		{"kubernetes.yaml", kubernetes, "- name: tmp\n          emptyDir", "- name: temp\n          emptyDir",
			"there is no volume tmp"},
		{"kubernetes.yaml", kubernetes, "authorization { user: $NATS_USER, password: $NATS_PASSWORD }",
			"", "needs no password"},
		{"kubernetes.yaml", kubernetes, `true", port: monitor`, `true", port: http`, "asks the port http"},
		{"kubernetes.yaml", kubernetes,
			"spec:\n  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app: worker",
			"spec:\n  maxUnavailable: 3\n  selector:\n    matchLabels:\n      app: worker",
			"no PodDisruptionBudget"},
		{"kubernetes.yaml", kubernetes, "kind: Deployment", "kind: DaemonSet", "is not expected"},
	}
	for _, tt := range tests {
		data, err := os.ReadFile(deploy + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), tt.old) {
			t.Fatalf("%s does not hold %q", tt.file, tt.old)
		}
		problems := errors.Join(tt.check(t.Context(),
			[]byte(strings.Replace(string(data), tt.old, tt.new, 1)), taken)...)
		switch {
		case tt.want == "" && problems != nil:
			t.Errorf("%s: %v", tt.file, problems)
		case tt.want != "" && (problems == nil || !strings.Contains(problems.Error(), tt.want)):
			t.Errorf("%s with %q: %v, want %q", tt.file, tt.new, problems, tt.want)
		}
	}
}

// TestFlags has skill-fleet asked about each command line that a manifest has.
func TestFlags(t *testing.T) {
	for file, check := range map[string]func(context.Context, []byte,
		program) []error{"compose.yaml": compose, "kubernetes.yaml": kubernetes} {
		data, err := os.ReadFile(deploy + file)
		if err != nil {
			t.Fatal(err)
		}
		unknown := errors.New("unknown flag")
		if problems := check(t.Context(), data, func([]string) error { return unknown }); !errors.Is(errors.Join(problems...), unknown) {
			t.Errorf("%s: %v, want that no flag is known", file, problems)
		}
	}
}
