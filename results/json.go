package results

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The library gives a time.Duration no representation of its own, so that
// each format chooses: ours is integer nanoseconds.
var options = json.JoinOptions(
	json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, d time.Duration) error {
		return enc.WriteToken(jsontext.Int(int64(d)))
	})),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, d *time.Duration) error {
		tok, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if tok.Kind() != '0' {
			return errors.New("a duration must be an integer of nanoseconds")
		}
		n, err := tok.Int()
		if err != nil {
			return errors.New("a duration must be an integer of nanoseconds")
		}
		*d = time.Duration(n)
		return nil
	})),
	json.Deterministic(true),
)

// Marshal writes v as records are written: one line, durations as integer
// nanoseconds, map members sorted.
func Marshal(v any) ([]byte, error) { return json.Marshal(v, options) }

// Unmarshal reads what [Marshal] wrote. Unknown members are ignored: a newer
// minor field must not make an old reader useless.
func Unmarshal(b []byte, v any) error { return json.Unmarshal(b, v, options) }
