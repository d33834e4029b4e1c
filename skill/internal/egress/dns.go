package egress

import (
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// A NameServer answers programs that look up names themselves and do not ask the proxy: at once,
// with an address that pose returns for a host that may be reached, and with none for others.
type NameServer struct {
	Policy *Policy
	Log    *Log
	Pose   func(name string, ports []int) (netip.Addr, bool)
}

// Serve answers until c is closed.
func (s *NameServer) Serve(c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := s.answer(buf[:n]); reply != nil {
			c.WriteTo(reply, from)
		}
	}
}

// answer returns nil for what is not a question.
func (s *NameServer) answer(query []byte) []byte {
	var parser dnsmessage.Parser
	head, err := parser.Start(query)
	if err != nil || head.Response {
		return nil
	}
	q, err := parser.Question()
	if err != nil {
		return nil
	}
	reply := dnsmessage.Message{Questions: []dnsmessage.Question{q}, Header: dnsmessage.Header{
		ID: head.ID, Response: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
		RCode: dnsmessage.RCodeNameError,
	}}
	if addr, found := s.find(q.Name.String()); found {
		reply.RCode = dnsmessage.RCodeSuccess
		if q.Type == dnsmessage.TypeA {
			head := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}
			reply.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}}}
		}
	}
	out, err := reply.Pack()
	if err != nil {
		return nil
	}
	return out
}

func (s *NameServer) find(asked string) (addr netip.Addr, found bool) {
	name, err := canonical(strings.TrimSuffix(asked, "."))
	if err != nil {
		return addr, false
	}
	if isLocal(name) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	if ports := s.Policy.Ports(name); len(ports) > 0 {
		return s.Pose(name, ports)
	}
	s.Log.add(Refused{Host: name})
	return addr, false
}
