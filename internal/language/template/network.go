package template

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

const (
	cidrMessage  = "Template error: every Fn::Cidr object requires a list of two or three parameters: an IP block, a count from 1 to 256, and the number of bits for the hosts of each subnet."
	getAZMessage = "Template error: every Fn::GetAZs object must have a String-typed value."
	maxCidrs     = 256
)

func checkCidr(s *shapes, argument Node, where path) {
	items := s.list(argument, where, []int{2, 3}, cidrMessage)
	for i, item := range items {
		at := where.to(strconv.Itoa(i))
		s.string(item, at, cidrMessage)
		if !item.isScalar() || i == 0 {
			continue
		}
		if n, err := strconv.Atoi(item.text); err != nil || n < 1 || i == 1 && n > maxCidrs {
			s.at(item, at, cidrMessage)
		}
	}
	if len(items) > 0 && items[0].isScalar() {
		if _, err := netip.ParsePrefix(items[0].text); err != nil {
			s.at(items[0], where.to("0"), "%s", notBlock(items[0].text))
		}
	}
}

func notBlock(shown string) string {
	return "Template error: Fn::Cidr: " + strconv.Quote(shown) + " is not an IP block such as 10.0.0.0/16."
}

// evaluateCidr divides a block into subnets. It ignores host bits that are set in the block's address. Without the
// third argument, the subnets are as large as possible.
func evaluateCidr(e *evaluation, argument Node) (value.Value, error) {
	secrecy := value.Open
	var texts [3]string
	for i, item := range argument.items {
		v, err := e.string(item, cidrMessage)
		if err != nil {
			return value.Value{}, err
		}
		texts[i], secrecy = v.Text(), max(secrecy, v.Secrecy())
	}
	block, err := netip.ParsePrefix(texts[0])
	if err != nil {
		text := texts[0]
		if secrecy != value.Open {
			text = value.ParameterMask
		}
		return value.Value{}, e.fail(argument, "%s", notBlock(text))
	}
	count, err := strconv.Atoi(texts[1])
	if err != nil || count < 1 || count > maxCidrs {
		return value.Value{}, e.fail(argument, cidrMessage)
	}
	room := block.Addr().BitLen() - block.Bits()
	bits := room - bitsFor(count)
	if len(argument.items) == 3 {
		if bits, err = strconv.Atoi(texts[2]); err != nil || bits < 1 {
			return value.Value{}, e.fail(argument, cidrMessage)
		}
	}
	if bits < 0 || bits > room || bitsFor(count) > room-bits {
		return value.Value{}, e.fail(argument, "Template error: Fn::Cidr: the IP block has no room for that many subnets of that size.")
	}
	return value.Strs(subnets(block, count, bits)...).Tainted(secrecy), nil
}

// bitsFor returns the number of bits that distinguish this many subnets.
func bitsFor(count int) int {
	bits := 0
	for 1<<bits < count {
		bits++
	}
	return bits
}

// subnets returns the first subnets of a block, each with this many host bits. They must fit the block.
func subnets(block netip.Prefix, count, bits int) []string {
	list := make([]string, count)
	for i := range list {
		address := block.Masked().Addr().AsSlice()
		// The number of the subnet is added above the host bits. It is below 2^9, so it spans at most two bytes.
		for shifted, at := uint(i)<<(bits%8), len(address)-1-bits/8; shifted > 0 && at >= 0; at-- {
			address[at] |= byte(shifted)
			shifted >>= 8
		}
		first, _ := netip.AddrFromSlice(address)
		list[i] = netip.PrefixFrom(first, len(address)*8-bits).String()
	}
	return list
}

// WantsZones reports whether the template calls Fn::GetAZs, which needs [Outside.Zones] in the scope.
func (t *Template) WantsZones() bool { return t.zones }

func checkGetAZs(s *shapes, argument Node, where path) {
	name, _, call := argument.call()
	if call && name != "Ref" || !call && argument.kind != value.String {
		s.at(argument, where, getAZMessage)
		return
	}
	s.node(argument, where)
}

// evaluateGetAZs returns the zones of a region; "" is the stack's own.
func evaluateGetAZs(e *evaluation, argument Node) (value.Value, error) {
	v, err := e.string(argument, getAZMessage)
	if err != nil {
		return value.Value{}, err
	}
	zones, ok := e.zones(v.Text(), "")
	if !ok {
		return value.Value{}, e.fail(argument, "Template error: Fn::GetAZs: the region is not a region name.")
	}
	return value.Strs(zones...).Tainted(v.Secrecy()), nil
}

// zones returns the zones of a region; "" is the stack's own. If none are known, it returns three zones: the region's
// name, between, and a letter. It returns false for an invalid region name.
func (e *evaluation) zones(region, between string) ([]string, bool) {
	if region == "" {
		region = e.scope.Pseudo.Region
	}
	if zones, ok := e.scope.Outside.Zones[region]; ok {
		return zones, true
	}
	if strings.ContainsFunc(region, func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return nil, false
	}
	region += between
	return []string{region + "a", region + "b", region + "c"}, true
}
