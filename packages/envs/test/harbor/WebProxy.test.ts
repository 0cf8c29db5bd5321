/** The proxy of tasks that have the Internet alone, and the ports that others are warned of. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, request } from "node:http"
import { type AddressInfo, createServer as createTcp, type Server } from "node:net"
import { networkInterfaces } from "node:os"
import * as Listeners from "../../src/harbor/Listeners.ts"
import * as WebProxy from "../../src/harbor/WebProxy.ts"

const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<number>((resume) => {
      // Listening, so it has an address.
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
    }),
    () => Effect.sync(() => server.close())
  )

/** What a proxy answers to a request for an absolute URL. */
const ask = (port: number, path: string, body = "") =>
  Effect.callback<readonly [status: number | undefined, text: string]>((resume) => {
    const method = body === "" ? "GET" : "POST"
    request({ port, host: "127.0.0.1", path, method, headers: { host: "named", connection: "close" } }, (response) => {
      let text = ""
      response.on("data", (part: Buffer) => (text += part.toString()))
      response.on("end", () => resume(Effect.succeed([response.statusCode, text])))
    }).end(body)
  })

/** The status of a CONNECT, and what comes back of a line sent through it. */
const tunnel = (port: number, path: string, line = "") =>
  Effect.callback<readonly [status: number | undefined, text: string]>((resume) => {
    request({ port, host: "127.0.0.1", path, method: "CONNECT" })
      .on("connect", (response, socket, head: Buffer) => {
        let text = head.toString()
        socket.on("data", (part: Buffer) => (text += part.toString()))
        socket.on("close", () => resume(Effect.succeed([response.statusCode, text])))
        if (response.statusCode === 200) socket.end(line)
      })
      .end()
  })

describe("the proxy of tasks", () => {
  it.live("reaches public addresses alone, by address, by name and in any spelling", () =>
    Effect.gen(function* () {
      let reached = 0
      const served = yield* listening(
        createServer((_, response) => {
          reached++
          response.end()
        })
      )
      const proxy = yield* listening(WebProxy.make())
      const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
      const spelled = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "[::1]", "[::ffff:127.0.0.1]"]
      const hosts = [
        ...spelled,
        "0.0.0.0",
        "10.0.0.1",
        "172.17.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "[fd00::1]",
        "[fe80::1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::1]",
        ...own.map((address) => (address.includes(":") ? `[${address.split("%")[0]}]` : address))
      ]
      for (const host of hosts) {
        const [status, text] = yield* ask(proxy, `http://${host}:${served}/`)
        assert.deepStrictEqual([host, status], [host, 403])
        assert.include(text, "is not a public address")
        assert.deepStrictEqual([host, (yield* tunnel(proxy, `${host}:${served}`))[0]], [host, 403])
      }
      assert.strictEqual(reached, 0)
      const gateway = { host: "127.0.0.1", port: served }
      const known = yield* listening(WebProxy.make({ gateway }))
      assert.strictEqual((yield* ask(known, `http://127.0.0.1:${served}/`))[0], 200)
      assert.strictEqual((yield* ask(known, `http://127.0.0.1:${known}/`))[0], 403)
      assert.isTrue(["8.8.8.8", "2606:4700::1111"].every((address) => WebProxy.isPublic(address)))
    }).pipe(Effect.scoped)
  )

  it.live("forwards requests with their path and body, and tunnels both ways", () =>
    Effect.gen(function* () {
      const web = yield* listening(
        createServer((incoming, response) => {
          let body = ""
          incoming.on("data", (part: Buffer) => (body += part.toString()))
          incoming.on("end", () => response.writeHead(201).end(`${incoming.method} ${incoming.url} ${body}`))
        })
      )
      const echo = yield* listening(createTcp({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)))
      const proxy = yield* listening(WebProxy.make({ isAllowed: () => true }))
      assert.deepStrictEqual(yield* ask(proxy, `http://localhost:${web}/a?b=c`, "text"), [201, "POST /a?b=c text"])
      assert.deepStrictEqual(yield* tunnel(proxy, `localhost:${echo}`, "hello"), [200, "hello"])
      assert.strictEqual((yield* ask(proxy, "/a"))[0], 400)
    }).pipe(Effect.scoped)
  )

  it("has the ports of listeners, without those of the loopback alone", () => {
    const table = [
      "  sl  local_address rem_address   st",
      "   0: 0100007F:1538 00000000:0000 0A",
      "   1: 00000000:07E8 00000000:0000 0A",
      "   2: 00000000:0050 0100000A:1F90 01",
      "   3: 00000000000000000000000001000000:1117 00000000000000000000000000000000:0000 0A",
      "   4: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A"
    ].join("\n")
    assert.deepStrictEqual(Listeners.parse(table, true), [5432, 2024, 4375, 22])
    assert.deepStrictEqual(Listeners.parse(table, false), [2024, 22])
  })
})
