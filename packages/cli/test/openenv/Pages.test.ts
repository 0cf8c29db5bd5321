/** Pages of other sites open no socket, however they spell its path; and no message is too much for a session. */
import { assert, layer } from "@effect/vitest"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { connect } from "node:net"
import * as InProcess from "../InProcess.ts"
import * as Client from "./SocketClient.ts"

const served = Effect.fn(function* (...more: ReadonlyArray<string>) {
  yield* InProcess.folder
  const command = yield* InProcess.start(["openenv", "--env", "arithmetic-stories", "--port", "0", ...more])
  const [, url] = yield* command.says(/OpenEnv server at (http:\/\/\S+?),/)
  return url!
})

/** The first line of the answer to a handshake. */
const handshake = (url: string, path: string, headers: { readonly [name: string]: string }) =>
  Effect.callback<string>((resume) => {
    const { host, hostname, port } = new URL(url)
    const lines = Object.entries({
      host,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      ...headers
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(Number(port), hostname, () => socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`))
    socket.once("data", (bytes) => {
      socket.destroy()
      resume(Effect.succeed(bytes.toString("latin1").split("\r\n", 1)[0]!))
    })
    socket.on("error", () => resume(Effect.succeed("closed")))
    socket.on("close", () => resume(Effect.succeed("closed")))
  })

const spellings = [
  "/ws",
  "/ws/",
  "//ws",
  "///ws",
  "/ws//",
  "/WS",
  "/Ws/",
  "/%77s",
  "/%57S",
  "/w%73",
  "/./ws",
  "/x/../ws",
  "/ws?x=1",
  "/ws?session_id=1",
  "/ws#x",
  "/ws;x",
  "/%2fws",
  "/ws%2f",
  "/ws%20",
  "/\\ws"
]
const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"

layer(NodeServices.layer, { excludeTestServices: true })("atropos openenv and web pages", (it) => {
  it.effect("opens no socket to a page of another site, by any spelling of its path", () =>
    Effect.gen(function* () {
      const url = yield* served()
      for (const path of spellings) {
        for (const headers of [
          { origin: "https://evil.example", "user-agent": chrome },
          { origin: "null", "user-agent": chrome },
          { origin: "https://evil.example", "sec-fetch-site": "cross-site", "user-agent": chrome },
          { "user-agent": chrome },
          { host: "evil.example", origin: "http://evil.example" }
        ]) {
          assert.notInclude(yield* handshake(url, path, headers), " 101 ", `${path} ${JSON.stringify(headers)}`)
        }
      }
      assert.include(yield* handshake(url, "/ws", { origin: "https://evil.example" }), " 403 ")
      // A program, and a page of this machine.
      assert.include(yield* handshake(url, "/ws", {}), " 101 ")
      assert.include(yield* handshake(url, "/ws", { origin: "http://localhost:3000", "user-agent": chrome }), " 101 ")
    })
  )

  it.effect("refuses messages and bodies that hold too much, by what it is, and the session goes on", () =>
    Effect.gen(function* () {
      const url = yield* served()
      const session = yield* Client.open(url)
      const keys = `{${Array.from({ length: 70_000 }, (_, index) => `"k${index}":0`).join()}}`
      for (const [text, says] of [
        ["[".repeat(300), /is nested more than 200 levels deep/],
        [keys, /has more than 65536 keys/],
        [`[${"[],".repeat(110_000)}0]`, /has more than 100000 lists and maps/]
      ] as const) {
        yield* session.say(text)
        const reply = yield* session.next
        assert.strictEqual(reply.data["code"], "INVALID_JSON")
        assert.match(reply.data["message"], says)
        for (const path of ["/reset", "/step", "/mcp"]) {
          const answer = yield* Effect.promise(async () => {
            const response = await fetch(`${url}${path}`, { method: "POST", body: text })
            return { status: response.status, text: await response.text() }
          })
          assert.match(answer.text, says, path)
        }
      }
      assert.deepInclude(yield* session.ask("state"), { type: "state" })
      // Larger than any message may be: the socket ends before it is read.
      yield* session.say(`"${"x".repeat(5 * 2 ** 20)}"`)
      yield* session.closed
    })
  )
})
