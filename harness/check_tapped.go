package harness

import "slices"

// tappedCalls are calls of real clients. They bear no marks, but their answers
// name what they made: each record is laid to the oldest call that says that
// it wrote such a one. The calls of one session commit in the order they
// arrived, so the oldest is the right one.
type tappedCalls struct {
	byRecord map[string][]*call
	unsure   []*call
	lanes    map[string]int // by actor, the lane that registered it
}

func (t *tappedCalls) know(k *call) {
	if t.byRecord == nil {
		t.byRecord, t.lanes = map[string][]*call{}, map[string]int{}
	}
	if k.Ref != "" {
		t.lanes[k.Ref] = k.Lane
	}
	if k.unsure() {
		t.unsure = append(t.unsure, k)
		return
	}
	for _, kind := range k.Appended {
		var key string
		switch kind {
		case typeRegistered:
			key = k.Ref
		case typeSent, typeHandedOff, typeDenied:
			key = k.MessageID
		case typePolled, typeHeartbeat:
			key = k.Actor
		case typeAcked:
			key = k.Actor + " " + k.MessageID
		}
		key = kind + " " + key
		t.byRecord[key] = append(t.byRecord[key], k)
	}
}

// find takes the call that made a record, nil where none did. A record that
// no answer tells of is laid to a call of its actor's lane that was never
// answered, the oldest of the right verb: what else was asked, nobody knows.
func (t *tappedCalls) find(r logRecord) *call {
	key, actor := "", r.ActorID
	switch r.Type {
	case typeRegistered:
		key, actor = r.Ref, r.Ref
	case typeSent:
		key, actor = r.Message.MessageID, r.Message.From
	case typeHandedOff, typeDenied:
		key, actor = r.MessageID, r.From
	case typePolled, typeHeartbeat:
		key = r.ActorID
	case typeAcked:
		key = r.ActorID + " " + r.MessageID
	}
	key = r.Type + " " + key
	if queue := t.byRecord[key]; len(queue) > 0 {
		t.byRecord[key] = queue[1:]
		return queue[0]
	}
	lane, known := t.lanes[actor] // an actor whose registration wasn't answered is any lane's
	for _, k := range t.unsure {
		if known && k.Lane != lane {
			continue
		}
		types := verbRecords[k.Verb]
		may := slices.Contains(types, r.Type) || r.Type == typeDenied && slices.Contains(types, typeSent)
		if may && k.got[r.Type] == 0 {
			return k
		}
	}
	return nil
}

// tappedDiffers tells how a record isn't what a real client asked for or was
// answered.
func (k *call) tappedDiffers(r, previous logRecord) string {
	switch r.Type {
	case typeSent:
		switch {
		case digest(r.Message.Text) != k.Digest:
			return "its body isn't what was sent"
		case k.Outcome == OutcomeOK && r.Message.CorrelationID != k.CorrelationID:
			return "its correlation isn't the one in the reply"
		}
	case typeHandedOff:
		if previous.Type != typeSent || previous.Message.MessageID != r.MessageID {
			return "its work.handed-off doesn't follow its message.sent"
		}
	case typePolled:
		if k.Outcome == OutcomeOK && !equal(r.MessageIDs, k.Shown) {
			return "the messages shown aren't those in the reply"
		}
	}
	return ""
}
