package main

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
	"gaia/eventlog"
)

func newEventsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "events",
		Short: "Print every record of the log",
		Long: `Events validates the whole log and prints its records with their own bytes, in
order. The log itself, events.jsonl, holds the same records, one a line.`,
		Example: "  gaia events --pretty\n  gaia events | jq '.events[] | select(.type == \"authority.denied\")'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, _, err := a.log()
			if err != nil {
				return err
			}
			body := jsontext.Value(`{"ok":true,"events":[`)
			page, count := a.page(), 0
			err = log.Lines(cmd.Context(), func(l eventlog.Line) error {
				if count++; count > 1 {
					body = append(body, ',')
				}
				body = append(body, l.Bytes...)
				if !a.json() {
					printEvent(page, l)
				}
				return nil
			})
			if err != nil {
				return a.failed(err)
			}
			body = fmt.Appendf(body, `],"count":%d}`, count)
			return a.print(answer{body: body, text: func(p *text.Page) { *p = *page }})
		},
	}
}

// printEvent shows one record to a person, a line each.
func printEvent(p *text.Page, l eventlog.Line) {
	e, err := core.ParseEvent(l.Bytes)
	if err != nil {
		p.Mark(text.Warn, fmt.Sprintf("%6d  ", l.Number), "%s", l.Bytes)
		return
	}
	p.Mark(text.Head, fmt.Sprintf("%6d  ", l.Number), "%s  %s", e.EventAt(), summary(e))
}

// summary says in one line what a record says.
func summary(e core.Event) string {
	switch e := e.(type) {
	case *core.ActorRegistered:
		verb := "updated"
		if e.IsNew {
			verb = "registered"
		}
		return fmt.Sprintf("%s %s %q (%s)", verb, e.Ref, e.Name, e.Kind)
	case *core.MessageSent:
		m := &e.Message
		return fmt.Sprintf("%s %s: %s -> %s, %s: %q", m.MessageID, m.Kind, m.From, m.To, m.CorrelationID, m.Text)
	case *core.AuthorityDenied:
		return fmt.Sprintf("denied on %s: %q", e.MessageID, e.Requested)
	case *core.InboxPolled:
		return fmt.Sprintf("%s looked and was shown %d", e.ActorID, len(e.MessageIDs))
	case *core.MessageAcked:
		return fmt.Sprintf("%s acknowledged %s%s", e.ActorID, e.MessageID, noted(e.Note))
	case *core.ActorHeartbeat:
		return fmt.Sprintf("%s is alive%s", e.ActorID, noted(e.Note))
	case *core.WorkHandedOff:
		return fmt.Sprintf("%s handed over by %s -> %s, authority transferred: %q", e.MessageID, e.From, e.To, e.AuthorityTransferred)
	case *core.CommandRejected:
		return fmt.Sprintf("rejected %s: %s", e.Command, e.Reason)
	}
	return e.EventType() + " (a type this version doesn't know)"
}

func noted(note *string) string {
	if note == nil {
		return ""
	}
	return fmt.Sprintf(": %q", *note)
}
