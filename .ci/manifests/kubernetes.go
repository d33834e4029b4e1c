package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// cluster is what the documents of a file describe.
type cluster struct {
	problems []error
	config   map[string]core.ConfigMap
	services []core.Service
	budgets  []policy.PodDisruptionBudget
	policies []networking.NetworkPolicy
	pods     map[string]core.PodTemplateSpec // by the name of what makes them
	nats     *apps.StatefulSet
	worker   *apps.Deployment
}

// kubernetes checks a file of manifests.
func kubernetes(_ context.Context, data []byte, p program) []error {
	c := &cluster{config: map[string]core.ConfigMap{}, pods: map[string]core.PodTemplateSpec{}}
	for i, doc := range bytes.Split(data, []byte("\n---\n")) {
		if err := c.read(doc); err != nil {
			c.bad("document %d: %w", i+1, err)
		}
	}
	if c.nats == nil || c.worker == nil {
		c.bad("there is no StatefulSet nats, or no Deployment worker")
		return c.problems
	}
	c.selectors()
	for name, pod := range c.pods {
		c.pod(name, pod.Spec)
	}
	c.nodes()
	c.workers(p)
	return c.problems
}

func (c *cluster) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// read adds a document.
func (c *cluster) read(doc []byte) error {
	var kind meta.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 ConfigMap":
		v, err := strict[core.ConfigMap](doc)
		c.config[v.Name] = v
		return err
	case "v1 Service":
		v, err := strict[core.Service](doc)
		c.services = append(c.services, v)
		return err
	case "apps/v1 StatefulSet":
		v, err := strict[apps.StatefulSet](doc)
		c.nats, c.pods[v.Name] = &v, v.Spec.Template
		c.selects("StatefulSet "+v.Name, v.Spec.Selector, v.Spec.Template.Labels)
		return err
	case "apps/v1 Deployment":
		v, err := strict[apps.Deployment](doc)
		c.worker, c.pods[v.Name] = &v, v.Spec.Template
		c.selects("Deployment "+v.Name, v.Spec.Selector, v.Spec.Template.Labels)
		return err
	case "policy/v1 PodDisruptionBudget":
		v, err := strict[policy.PodDisruptionBudget](doc)
		c.budgets = append(c.budgets, v)
		return err
	case "networking.k8s.io/v1 NetworkPolicy":
		v, err := strict[networking.NetworkPolicy](doc)
		c.policies = append(c.policies, v)
		return err
	}
	return fmt.Errorf("%s %s is not expected here", kind.APIVersion, kind.Kind)
}

// strict reads a document that may have no field which its kind does not have.
func strict[T any](doc []byte) (v T, err error) { return v, yaml.UnmarshalStrict(doc, &v) }

// selects checks that a selector takes pods with these labels.
func (c *cluster) selects(what string, s *meta.LabelSelector, labels map[string]string) bool {
	selector, err := meta.LabelSelectorAsSelector(s)
	ok := err == nil && !selector.Empty() && selector.Matches(set(labels))
	if !ok && labels != nil {
		c.bad("%s: its selector does not match the labels %v", what, labels)
	}
	return ok
}

// set are labels as a selector looks at them.
type set map[string]string

func (s set) Has(label string) bool              { _, ok := s[label]; return ok }
func (s set) Get(label string) string            { return s[label] }
func (s set) Lookup(label string) (string, bool) { v, ok := s[label]; return v, ok }

// selectors checks what selects pods by their labels.
func (c *cluster) selectors() {
	matches := func(what string, s *meta.LabelSelector, to string) {
		for name, pod := range c.pods {
			selector, err := meta.LabelSelectorAsSelector(s)
			if err == nil && !selector.Empty() && selector.Matches(set(pod.Labels)) && name == to {
				return
			}
		}
		c.bad("%s: no pods of %s have the labels that it selects", what, to)
	}
	for _, s := range c.services {
		matches("Service "+s.Name, &meta.LabelSelector{MatchLabels: s.Spec.Selector}, s.Name)
	}
	for _, p := range c.policies {
		matches("NetworkPolicy "+p.Name, &p.Spec.PodSelector, p.Name)
	}
	covered := map[string]bool{}
	for _, b := range c.budgets {
		matches("PodDisruptionBudget "+b.Name, b.Spec.Selector, b.Name)
		covered[b.Name] = b.Spec.MaxUnavailable != nil && b.Spec.MaxUnavailable.IntValue() == 1
	}
	for name := range c.pods {
		if !covered[name] {
			c.bad("%s: no PodDisruptionBudget keeps all but one of its pods", name)
		}
	}
}

// pod checks what every pod must be like.
func (c *cluster) pod(name string, s core.PodSpec) {
	if s.HostNetwork || s.HostPID || s.HostIPC {
		c.bad("%s: it shares the machine's namespaces", name)
	}
	if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
		c.bad("%s: it has the token of a service account", name)
	}
	if s.SecurityContext == nil || s.SecurityContext.RunAsNonRoot == nil || !*s.SecurityContext.RunAsNonRoot {
		c.bad("%s: it may run as root", name)
	}
	volumes := map[string]bool{}
	for _, v := range s.Volumes {
		volumes[v.Name] = true
		if v.HostPath != nil {
			c.bad("%s: the volume %s is a folder of the machine", name, v.Name)
		}
		if v.ConfigMap != nil {
			if _, ok := c.config[v.ConfigMap.Name]; !ok {
				c.bad("%s: there is no ConfigMap %s", name, v.ConfigMap.Name)
			}
		}
	}
	if name == c.nats.Name {
		for _, claim := range c.nats.Spec.VolumeClaimTemplates {
			volumes[claim.Name] = true
		}
	}
	for _, ct := range s.Containers {
		sc := ct.SecurityContext
		if sc == nil || sc.Privileged != nil &&
			*sc.Privileged || sc.AllowPrivilegeEscalation == nil ||
			*sc.AllowPrivilegeEscalation ||
			sc.Capabilities == nil || len(sc.Capabilities.Drop) != 1 || sc.Capabilities.Drop[0] != "ALL" ||
			len(sc.Capabilities.Add) > 0 {
			c.bad("%s: the container %s has rights over the machine", name, ct.Name)
		}
		if ct.Resources.Limits.Memory().IsZero() || ct.Resources.Requests.Cpu().IsZero() {
			c.bad("%s: the container %s has no limit of memory, or asks for no processor", name, ct.Name)
		}
		if ct.StartupProbe == nil {
			c.bad("%s: nothing looks whether the container %s has started", name, ct.Name)
		}
		for _, m := range ct.VolumeMounts {
			if !volumes[m.Name] {
				c.bad("%s: there is no volume %s", name, m.Name)
			}
		}
		ports := map[string]bool{}
		for _, p := range ct.Ports {
			ports[p.Name] = true
		}
		for _, probe := range []*core.Probe{ct.StartupProbe, ct.ReadinessProbe, ct.LivenessProbe} {
			if probe != nil && probe.HTTPGet != nil && !ports[probe.HTTPGet.Port.String()] {
				c.bad("%s: a probe asks the port %s, which there is not", name, probe.HTTPGet.Port.String())
			}
		}
	}
}

// hosts are the names of the nodes.
func (c *cluster) hosts() (hosts []string) {
	for i := range int(*c.nats.Spec.Replicas) {
		hosts = append(hosts, fmt.Sprintf("%s-%d.%s", c.nats.Name, i, c.nats.Spec.ServiceName))
	}
	return hosts
}

// nodes checks the nodes of NATS.
func (c *cluster) nodes() {
	found := false
	for _, s := range c.services {
		found = found || s.Name == c.nats.Spec.ServiceName && s.Spec.ClusterIP == "None" &&
			s.Spec.PublishNotReadyAddresses
	}
	if !found {
		c.bad("nats: there is no headless Service %q that shows nodes which are not ready",
			c.nats.Spec.ServiceName)
	}
	ct := c.nats.Spec.Template.Spec.Containers[0]
	env := map[string]string{"HOSTNAME": "nats-0"}
	for _, e := range ct.Env {
		env[e.Name] = "secret"
	}
	var durable []string
	for _, m := range ct.VolumeMounts {
		for _, claim := range c.nats.Spec.VolumeClaimTemplates {
			if claim.Name == m.Name {
				durable = append(durable, m.MountPath)
			}
		}
	}
	c.problems = append(c.problems, nats(c.config["nats"].Data["nats.conf"], env, c.hosts(), durable)...)
}

// workers checks the workers.
func (c *cluster) workers(p program) {
	ct := c.worker.Spec.Template.Spec.Containers[0]
	if err := p(ct.Args); err != nil {
		c.problems = append(c.problems, err)
	}
	if probe := ct.StartupProbe; probe != nil && probe.Exec != nil {
		if err := p(probe.Exec.Command[1:]); err != nil {
			c.problems = append(c.problems, err)
		}
	}
	var urls string
	known := map[string]bool{}
	for _, e := range ct.Env {
		if e.Name == "NATS_URL" {
			urls = e.Value
			for name := range known {
				urls = strings.ReplaceAll(urls, "$("+name+")", "secret")
			}
		}
		known[e.Name] = true
	}
	c.problems = append(c.problems, servers(urls, c.hosts())...)
}
