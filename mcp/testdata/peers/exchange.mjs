// An exchange through the official TypeScript SDK's stdio client: each step's
// answer as one line of JSON. Arguments: the command to start.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const say = (value) => console.log(JSON.stringify(value));
const call = async (name, args) => say(await client.callTool({ name, arguments: args }));

say((await client.listTools()).tools.map((tool) => tool.name));
await call("register", { actorId: "builder" });
await call("register", { actorId: "reviewer" });
await call("send", { from: "builder", to: "reviewer", text: "<\u2028é😀>" });
await call("inbox", { actorId: "reviewer" });
await call("ack", { actorId: "reviewer", messageId: "msg-0001" });
await call("heartbeat", { actorId: "builder" });
await call("handoff", { from: "reviewer", to: "builder", summary: "the docs" });
await call("send", { from: "builder", to: "nobody", text: "hi" });
await call("merge", {});
await client.ping();
await client.close();
