package needs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports returns n ports of 127.0.0.1 that nobody has, for programs that are told their port. They
// lie below those that systems give to connections and to listeners on port 0 (from 32768 on
// Linux, from 49152 elsewhere), so that no other test gets one before the program listens.
func Ports(t testing.TB, n int) (ports []int) {
	t.Helper()
	for tries := 0; len(ports) < n; tries++ {
		if tries == 100*n {
			t.Fatalf("no %d free ports in %d tries", n, tries)
		}
		port := 10000 + rand.IntN(20000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			defer l.Close() // at the end, so that none is returned twice
			ports = append(ports, port)
		}
	}
	return ports
}

// Port returns one of [Ports].
func Port(t testing.TB) int {
	t.Helper()
	return Ports(t, 1)[0]
}
