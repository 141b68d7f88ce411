package main

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"gaia/cmd/gaia/internal/text"
	"gaia/core"
)

// printResult shows a verb's result to a person. One that can't be read is
// shown as it is.
func printResult(p *text.Page, verb core.Verb, raw jsontext.Value) {
	printed := false
	switch verb {
	case core.Register:
		printed = show(raw, func(r core.RegisterResult) {
			p.Mark(text.Good, "registered ", "%s %q", r.Ref, r.Name)
			p.Field("address", "%s", r.Addressing)
			p.Field("may", "%s", strings.Join(r.BusAuthority, " "))
			printPeers(p, r.Peers)
		})
	case core.Send:
		printed = show(raw, func(r core.SendResult) {
			p.Mark(text.Good, "sent ", "%s  %s  (%s)", r.MessageID, r.Route, r.CorrelationID)
			p.Field("reply to", "%s", r.ReplyTo)
			printAuthority(p, r.Authority)
			p.Field("delivery", "%s", r.Delivery)
		})
	case core.Inbox:
		printed = show(raw, func(r core.InboxResult) {
			p.Heading("%d waiting for %s", len(r.Pending)+r.Remaining, r.ActorID)
			for _, m := range r.Pending {
				p.Blank()
				printMessage(p, m)
			}
			if r.Remaining > 0 {
				p.Blank()
				p.Line("%d more: gaia inbox --actorId %s --after %s", r.Remaining, r.ActorID, r.Next)
			}
			if len(r.Pending) > 0 {
				p.Blank()
				p.Line("%s", readingRule)
			}
			printPeers(p, r.Peers)
		})
	case core.Ack:
		printed = show(raw, func(r core.AckResult) {
			p.Mark(text.Good, "acknowledged ", "%s by %s", r.MessageID, r.AckedBy)
			p.Field("meaning", "%s", r.Meaning)
		})
	case core.Heartbeat:
		printed = show(raw, func(r core.HeartbeatResult) {
			p.Mark(text.Good, "seen ", "%s at %s", r.ActorID, r.At)
			printPeers(p, r.Peers)
		})
	case core.Handoff:
		printed = show(raw, func(r core.HandoffResult) {
			p.Mark(text.Good, "handed off ", "%s  (%s)", r.MessageID, r.CorrelationID)
			p.Field("reply to", "%s", r.ReplyTo)
			p.Field("authority", "none transferred")
			p.Field("delivery", "%s", r.Delivery)
		})
	}
	if !printed {
		p.Line("%s", raw)
	}
}

func show[R any](raw jsontext.Value, print func(R)) bool {
	var r R
	if json.Unmarshal(raw, &r) != nil {
		return false
	}
	print(r)
	return true
}

func printMessage(p *text.Page, m core.Message) {
	p.Heading("%s  %s from %s %q", m.MessageID, m.Kind, m.From, m.FromName)
	p.Field("sent", "%s  (%s)", m.SentAt, m.CorrelationID)
	if m.ReplyTo != m.From {
		p.Field("reply to", "%s %q", m.ReplyTo, m.ReplyToName)
	}
	if m.ExpectsReply {
		p.Field("expects", "a reply")
	}
	printAuthority(p, m.Authority)
	if len(m.Flags) > 0 {
		p.Field("flags", "%s", strings.Join(m.Flags, " "))
	}
	p.Field("text", "%s", m.Trust)
	p.Body(m.Text)
}

func printAuthority(p *text.Page, a core.Authority) {
	if len(a.Granted) > 0 {
		p.Field("granted", "%s  (effect: %s)", strings.Join(a.Granted, " "), a.Effect)
	}
	if len(a.Denied) > 0 {
		p.Field("denied", "%s", strings.Join(a.Denied, " "))
	}
}

func printPeers(p *text.Page, peers *core.Peers) {
	if peers == nil || len(peers.Actors) == 0 {
		return
	}
	p.Blank()
	var rows [][]string
	for _, peer := range peers.Actors {
		rows = append(rows, []string{peer.Ref, peer.Name, peer.Kind, peer.Status})
	}
	p.Table([]string{"PEER", "NAME", "KIND", "STATUS"}, rows)
	if peers.More > 0 {
		p.Line("and %d more", peers.More)
	}
}
