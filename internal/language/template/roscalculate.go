package template

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/language/value"
)

// Limits of the expressions of Fn::Calculate. Source: ours.
const (
	maxExpression = 4096
	// maxNesting is the maximum nesting depth of parentheses, signs and powers.
	maxNesting = 64
)

// calculate returns Fn::Calculate: the value of an expression by Python's rules, where {i} stands for a number in the
// list. Whole numbers give a whole number, even after a division. The decimal places apply only to floats.
func calculate() (function, bool) {
	g := signature{
		name: "Fn::Calculate", usage: "[expression, decimal places, [number, …]]", wants: []want{wantText, wantNumber, wantList}, least: 2,
	}
	f, ok := g.function(rosAnywhere, func(e *evaluation, a arguments) (value.Value, error) {
		places, err := a.whole(e, 1, 0, maxPlaces, 0)
		if err != nil {
			return value.Value{}, err
		}
		var numbers []decimal
		if len(a.values) == 3 {
			if numbers, err = a.decimals(e, a.values[2].Items()); err != nil {
				return value.Value{}, err
			}
		}
		result, work, err := calculated(a.text(0), numbers)
		if err := e.spend(a.at, work); err != nil {
			return value.Value{}, err
		}
		switch {
		case err != nil && a.values[0].Secret():
			return value.Value{}, a.fail(e, "the expression cannot be calculated")
		case err != nil:
			return value.Value{}, a.fail(e, "%v", err)
		case result.float:
			return result.rounded(places), nil
		}
		return result.value(), nil
	})
	return f, ok
}

// calculated returns the value of an expression, and the work to compute it. Its errors contain no numbers.
func calculated(text string, numbers []decimal) (d decimal, work int, err error) {
	if len(text) > maxExpression {
		return decimal{}, 0, fmt.Errorf("the expression is longer than %d bytes", maxExpression)
	}
	c := &calculation{rest: strings.TrimSpace(text), length: len(text), numbers: numbers}
	d, err = c.sum()
	if err == nil && c.rest != "" {
		err = c.unexpected()
	}
	return d, c.work, err
}

// calculation evaluates an expression from left to right.
type calculation struct {
	rest    string
	length  int
	numbers []decimal
	depth   int
	// work grows with the size of the numbers.
	work int
}

func (c *calculation) unexpected() error {
	if c.rest == "" {
		return errors.New("the expression ends too early")
	}
	return fmt.Errorf("the expression has something unexpected %d bytes before its end", len(c.rest))
}

// take consumes the first of the operators that comes next; "" for none.
func (c *calculation) take(operators ...string) string {
	for _, o := range operators {
		if strings.HasPrefix(c.rest, o) {
			c.skip(len(o))
			return o
		}
	}
	return ""
}

func (c *calculation) skip(n int) { c.rest = strings.TrimLeft(c.rest[n:], " \t\r\n") }

// nested calls read one level deeper.
func (c *calculation) nested(read func() (decimal, error)) (decimal, error) {
	if c.depth++; c.depth > maxNesting {
		return decimal{}, fmt.Errorf("the expression nests deeper than %d levels", maxNesting)
	}
	defer func() { c.depth-- }()
	return read()
}

func (c *calculation) sum() (decimal, error) {
	return c.chain(c.product, "+", "-")
}

func (c *calculation) product() (decimal, error) {
	return c.chain(c.signed, "//", "*", "/", "%")
}

// chain reads operands separated by operators of the same precedence.
func (c *calculation) chain(operand func() (decimal, error), operators ...string) (decimal, error) {
	left, err := operand()
	for err == nil {
		o := c.take(operators...)
		if o == "" {
			return left, nil
		}
		var right decimal
		if right, err = operand(); err == nil {
			c.work += nodeBytes + (left.bits()+right.bits())/32
			left, err = left.apply(o, right)
		}
	}
	return decimal{}, err
}

// signed reads an operand with its signs, which bind less tightly than a power.
func (c *calculation) signed() (decimal, error) {
	switch c.take("-", "+") {
	case "-":
		d, err := c.nested(c.signed)
		if err != nil {
			return decimal{}, err
		}
		return decimal{new(big.Rat).Neg(d.rat), d.float}, nil
	case "+":
		return c.nested(c.signed)
	}
	return c.power()
}

func (c *calculation) power() (decimal, error) {
	base, err := c.atom()
	if err != nil || c.take("**") == "" {
		return base, err
	}
	exponent, err := c.nested(c.signed) // powers are right-associative
	if err != nil {
		return decimal{}, err
	}
	d, err := base.power(exponent)
	if err == nil {
		c.work += d.bits() / 32
	}
	return d, err
}

func (c *calculation) atom() (decimal, error) {
	switch {
	case c.take("(") != "":
		d, err := c.nested(c.sum)
		if err == nil && c.take(")") == "" {
			err = c.unexpected()
		}
		return d, err
	case c.take("{") != "":
		digits, _, closed := strings.Cut(c.rest, "}")
		i, err := strconv.Atoi(strings.TrimSpace(digits))
		if !closed || err != nil || i < 0 || i >= len(c.numbers) {
			return decimal{}, errors.New("a number in braces is not the index of one in the list")
		}
		c.skip(len(digits) + 1)
		return c.numbers[i], nil
	}
	digits := c.number()
	d, ok := parseDecimal(digits)
	if !ok {
		return decimal{}, c.unexpected()
	}
	c.work += d.bits() / 32
	c.skip(len(digits))
	return d, nil
}

// number returns the text of the next number, or "".
func (c *calculation) number() string {
	end := 0
	for end < len(c.rest) {
		switch b := c.rest[end]; {
		case b >= '0' && b <= '9' || b == '.':
		case (b == 'e' || b == 'E') && end > 0:
			if next := end + 1; next < len(c.rest) && (c.rest[next] == '-' || c.rest[next] == '+') {
				end++
			}
		default:
			return c.rest[:end]
		}
		end++
	}
	return c.rest
}

var (
	errDivision = errors.New("the expression divides by zero")
	errLarge    = errors.New("a number in the expression becomes too large")
)

// apply applies an operator to two numbers.
func (d decimal) apply(operator string, other decimal) (decimal, error) {
	result := decimal{new(big.Rat), d.float || other.float}
	switch operator {
	case "+":
		result.rat.Add(d.rat, other.rat)
	case "-":
		result.rat.Sub(d.rat, other.rat)
	case "*":
		result.rat.Mul(d.rat, other.rat)
	default:
		if other.rat.Sign() == 0 {
			return decimal{}, errDivision
		}
		result.rat.Quo(d.rat, other.rat)
		if operator == "/" && result.float {
			break
		}
		result.rat = floor(result.rat)
		if operator == "%" {
			result.rat.Sub(d.rat, result.rat.Mul(result.rat, other.rat))
		}
	}
	if result.large() {
		return decimal{}, errLarge
	}
	return result, nil
}

// floor returns the largest whole number that is at most r.
func floor(r *big.Rat) *big.Rat {
	quotient, _ := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int)) // Euclidean, and the denominator is positive
	return new(big.Rat).SetInt(quotient)
}

// power returns d to the power of a whole number.
func (d decimal) power(exponent decimal) (decimal, error) {
	if !exponent.rat.IsInt() {
		return decimal{}, errors.New("an exponent in the expression is not a whole number")
	}
	n := exponent.rat.Num()
	negative := n.Sign() < 0
	if negative && d.rat.Sign() == 0 {
		return decimal{}, errDivision
	}
	size := int64(max(d.rat.Num().BitLen(), d.rat.Denom().BitLen()))
	if !n.IsInt64() || n.Int64() > maxBits || n.Int64() < -maxBits || new(big.Int).Abs(n).Int64()*size > maxBits {
		return decimal{}, errLarge
	}
	n = new(big.Int).Abs(n)
	result := new(big.Rat).SetFrac(new(big.Int).Exp(d.rat.Num(), n, nil), new(big.Int).Exp(d.rat.Denom(), n, nil))
	if negative {
		result.Inv(result)
	}
	return decimal{result, d.float || exponent.float || negative}, nil
}
