import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Schema } from "effect"
import { hostname } from "node:os"
import * as BrowserGuard from "../../src/http/BrowserGuard.ts"

const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"

interface Given extends Partial<BrowserGuard.Options> {
  readonly named?: string
}

const guard = ({ named, ...options }: Given = {}) =>
  BrowserGuard.make({ host: "127.0.0.1", changingReads: /\/batch$/, ...options }).pipe(
    Effect.provide(
      ConfigProvider.layer(ConfigProvider.fromUnknown(named === undefined ? {} : { ATROPOS_ALLOWED_HOSTS: named }))
    )
  )

const ask = (
  headers: BrowserGuard.RequestHead["headers"],
  method = "GET",
  url = "/status"
): BrowserGuard.RequestHead => ({
  method,
  url,
  headers
})

describe("BrowserGuard", () => {
  it.effect.each([
    ["127.0.0.1", "localhost", true],
    ["127.0.0.1", "localhost:8000", true],
    ["127.0.0.1", "LocalHost.:8000", true],
    ["localhost", "127.0.0.1:8000", true],
    ["::1", "[::1]:8000", true],
    ["127.0.0.1", "127.0.0.2", true],
    ["127.0.0.1", "rebound.example", false],
    ["127.0.0.1", "rebound.example:8000", false],
    ["127.0.0.1", "localhost.rebound.example", false],
    ["127.0.0.1", "127.0.0.1.rebound.example", false],
    ["127.0.0.1", "10.1.2.3:8000", false],
    ["127.0.0.1", "0.0.0.0:8000", true],
    ["127.0.0.1", "user@localhost", false],
    ["127.0.0.1", "localhost/x", false],
    ["127.0.0.1", "", false],
    ["0.0.0.0", "10.1.2.3:8000", true],
    ["::", "[2001:db8::1]:8000", true],
    ["0.0.0.0", hostname(), true],
    ["0.0.0.0", "localhost:8000", true],
    ["0.0.0.0", "rebound.example:8000", false],
    ["gpu1.example", "gpu1.example:8000", true],
    ["gpu1.example", "gpu2.example:8000", false]
  ] as const)("bound to %s takes requests for the host %s: %s", ([host, asked, isTaken]) =>
    Effect.gen(function* () {
      const refusal = yield* guard({ host })
      assert.strictEqual(refusal(ask({ host: asked })) === undefined, isTaken)
    })
  )

  it.effect("takes the names it is told, and says which setting that is", () =>
    Effect.gen(function* () {
      const before = (yield* guard({ tokens: "ATROPOS_TOKENS" }))(ask({ host: "Atropos:8000" })) ?? ""
      assert.include(before, "ATROPOS_ALLOWED_HOSTS=atropos ")
      assert.include(before, "ATROPOS_TOKENS")
      const refusal = yield* guard({ named: " atropos, gpu1.example:8000," })
      for (const host of ["atropos", "atropos:8000", "ATROPOS", "gpu1.example"]) {
        assert.isUndefined(refusal(ask({ host })), host)
      }
      assert.isDefined(refusal(ask({ host: "gpu2.example" })))
      const wrong = yield* Effect.flip(guard({ named: "atropos,http://gpu1" }))
      assert.include(wrong.message, "http://gpu1")
      assert.include(wrong.message, "ATROPOS_ALLOWED_HOSTS")
    })
  )

  const host = "localhost:8000"
  it.effect.each([
    // As programs send them: requests, aiohttp, httpx, curl, Node.
    ["python-requests", { "user-agent": "python-requests/2.32.3" }, true],
    ["aiohttp", { "user-agent": "Python/3.11 aiohttp/3.14.5" }, true],
    ["httpx", { "user-agent": "python-httpx/0.28.1" }, true],
    ["curl", { "user-agent": "curl/8.5.0" }, true],
    [
      "PowerShell",
      { "user-agent": "Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.26100; en-US) PowerShell/7.5.2" },
      true
    ],
    [
      "Windows PowerShell",
      { "user-agent": "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.26100.1" },
      true
    ],
    ["a program that says nothing", {}, true],
    ["an image of another site", { "user-agent": chrome, "sec-fetch-site": "cross-site" }, false],
    ["another site of the same domain", { "user-agent": chrome, "sec-fetch-site": "same-site" }, false],
    ["a browser that says nothing", { "user-agent": chrome }, false],
    ["an address typed into a browser", { "user-agent": chrome, "sec-fetch-site": "none" }, true],
    ["a page of another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }, false],
    ["a page of another site, in an old browser", { origin: "https://evil.example" }, false],
    ["a page in a sandbox", { origin: "null" }, false],
    ["a page of this machine", { origin: "http://127.0.0.1:3000", "sec-fetch-site": "cross-site" }, true],
    ["a page that is called like this machine", { origin: "http://localhost.evil.example" }, false],
    ["a page of the server's own", { origin: "http://localhost:8000", "sec-fetch-site": "same-origin" }, true]
  ] as const)("asked to change something by %s", ([who, headers, isTaken]) =>
    Effect.gen(function* () {
      const refusal = yield* guard()
      for (const changing of [ask({ host, ...headers }, "POST", "/x"), ask({ host, ...headers }, "GET", "/batch?a")]) {
        assert.strictEqual(refusal(changing) === undefined, isTaken, who)
      }
      assert.isUndefined(refusal(ask({ host, ...headers })), "reads are the browser's to withhold")
    })
  )

  it.effect("knows its own pages behind a proxy and for other machines", () =>
    Effect.gen(function* () {
      const behind = yield* guard({ named: "lab.example" })
      assert.isUndefined(behind(ask({ host: "lab.example", origin: "https://lab.example" }, "POST")))
      assert.isUndefined(
        behind(ask({ host: "127.0.0.1:8000", origin: "https://lab.example", "sec-fetch-site": "same-origin" }, "POST"))
      )
      const open = yield* guard({ host: "0.0.0.0" })
      assert.isUndefined(open(ask({ host: "10.0.0.5:8000", origin: "http://10.0.0.5:8000" }, "POST")))
      assert.isDefined(open(ask({ host: "10.0.0.5:8000", origin: "http://10.0.0.6:8000" }, "POST")))
    })
  )

  it.effect("sees through escapes in a path", () =>
    Effect.gen(function* () {
      const refusal = yield* guard()
      for (const url of ["/%62atch", "/b%61tc%68?x=1", "/batch;x"]) {
        assert.isDefined(refusal(ask({ host, "sec-fetch-site": "cross-site" }, "GET", url)), url)
      }
    })
  )

  it.effect.prop("takes no host but this machine's own, whatever it is", { host: Schema.String }, ({ host }) =>
    Effect.gen(function* () {
      const refusal = yield* guard()
      const isOwn = BrowserGuard.isLoopback(host) || URL.parse(`http://${host}`)?.hostname === "0.0.0.0"
      if (!isOwn) assert.isDefined(refusal(ask({ host })))
    })
  )
})
