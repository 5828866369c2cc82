// MCP: the official clients for TypeScript, of both generations, play over HTTP and over standard input.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";

import * as client from "@modelcontextprotocol/client";
import { StdioClientTransport as ClientStdio } from "@modelcontextprotocol/client/stdio";
import { Client as SdkClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as SdkStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as SdkHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const program = process.env.LUDEX_BIN;
assert(program, "name the server's program in LUDEX_BIN");
const info = { name: "test", version: "1" };

const generations = [
  { name: "sdk", create: () => new SdkClient(info), Http: SdkHttp, Stdio: SdkStdio },
  ...["legacy", "auto"].map((mode) => ({
    name: `client, ${mode}`,
    create: () => new client.Client(info, { versionNegotiation: { mode } }),
    Http: client.StreamableHTTPClientTransport,
    Stdio: ClientStdio,
  })),
];

let folder;
let server;
let url;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludex-mcp-"));
  const args = ["serve", "--json", "--listen", "127.0.0.1:0", "--data", join(folder, "store"), "--until-stdin-closes"];
  server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, LUDEX_LOG: "warn" } });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  url = new URL("/mcp", JSON.parse(line).url.replace("ws:", "http:"));
});

after(async () => {
  server.stdin.end();
  await once(server, "exit");
  await rm(folder, { recursive: true });
});

/** Plays a game with the first legal move, after a refused one. */
async function play(connected) {
  const call = (name, args) => connected.callTool({ name, arguments: args });
  const { tools } = await connected.listTools();
  assert(tools.some((tool) => tool.name === "play"));
  let { structuredContent: state } = await call("begin", { game: "tic_tac_toe", opponent: "anchor level=1" });
  const { id } = state;
  const refused = await call("play", { id, answer: "x(7,7)" });
  assert.equal(refused.isError, true);
  while (!state.over) {
    const prompt = state.messages.at(-1).content;
    const answer = prompt.split("Legal moves:\n")[1].split("\n")[0];
    const played = await call("play", { id, answer });
    assert(!played.isError, JSON.stringify(played.content));
    state = played.structuredContent;
  }
  assert.equal(state.returns.length, 2);
  const { contents } = await connected.readResource({ uri: "ludex://games/tic_tac_toe/rules" });
  assert.match(contents[0].text, /Tic-tac-toe/);
}

for (const { name, create, Http, Stdio } of generations) {
  test(`${name}: plays over HTTP`, async () => {
    const connected = create();
    await connected.connect(new Http(url));
    await play(connected);
    await connected.close();
  });

  test(`${name}: plays over standard input`, async () => {
    const connected = create();
    await connected.connect(new Stdio({ command: program, args: ["mcp"], stderr: "ignore" }));
    await play(connected);
    await connected.close();
  });
}
