package main

import "gaia/core"

type verbDoc struct{ short, long, example string }

// verbHelp tells what a verb is for. Its flags come from the bus.
var verbHelp = map[core.Verb]verbDoc{
	core.Register: {
		short: "Register an actor, or update one in place",
		long: `Register mints a new actor and prints its ref, which names it whatever others
call themselves. With --ref it updates that actor in place. Capabilities are
declarations that nothing is decided by; cwd= and branch= feed the report of
two sessions in one checkout (see gaia status).`,
		example: `  gaia register --actorId builder --kind claude-code \
    --capabilities cwd=C:/repos/ga,branch=main
  gaia register --actorId builder --ref act-0002 --quiet`,
	},
	core.Send: {
		short: "Send a message",
		long: `Send leaves a message in an actor's inbox. Delivery isn't agreement. Authority
that a message asks for is advisory at most: read, observe, suggest, draft,
report. Anything else is denied, the denial is recorded, and the message goes.
--text - reads standard input.`,
		example: `  gaia send --from gaia --to builder --text "Add the test." --expectsReply
  git diff | gaia send --from builder --to act-0003 --text -`,
	},
	core.Inbox: {
		short: "Read an actor's waiting messages",
		long: `Inbox shows what an actor hasn't acknowledged, oldest first, a page at a time;
--after continues behind a message. That the actor looked is recorded.`,
		example: "  gaia inbox --actorId reviewer\n  gaia inbox --actorId reviewer --after msg-0040",
	},
	core.Ack: {
		short:   "Acknowledge receipt of a message",
		long:    "Ack records that the addressee received a message: receipt, and nothing more.",
		example: `  gaia ack --actorId reviewer --messageId msg-0002 --note "Read."`,
	},
	core.Heartbeat: {
		short:   "Say that an actor is alive",
		long:    "Heartbeat keeps an actor online. An actor unseen for 30 s is shown as stale, and\nstays addressable.",
		example: "  gaia heartbeat --actorId builder",
	},
	core.Handoff: {
		short:   "Hand work over",
		long:    "Handoff moves work to another actor, and no authority: authorityTransferred is\nalways []. --summary - reads standard input.",
		example: "  gaia handoff --from builder --to reviewer --summary \"Ready; review only.\"\n  git log -1 | gaia handoff --from builder --to reviewer --summary -",
	},
}
