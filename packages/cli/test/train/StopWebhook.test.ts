import { assert, describe, it } from "@effect/vitest"
import { TrainerError } from "@atropos/trainer"
import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Runtime from "effect/Runtime"
import * as Services from "../../src/config/Services.ts"
import * as StopWebhook from "../../src/train/StopWebhook.ts"

const stopped = new TrainerError.TrainerError({ reason: "stopped", message: "stopped by stop_on. Reward collapsed" })

/** A server that keeps what it is sent, and answers with a status. */
const listening = (status: number) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly url: string; readonly bodies: ReadonlyArray<string>; readonly close: () => void }>(
          (resolve) => {
            const bodies: Array<string> = []
            const server = createServer((request, response) => {
              let body = ""
              request.on("data", (part) => (body += String(part)))
              request.on("end", () => {
                bodies.push(body)
                response.writeHead(status).end()
              })
            })
            server.listen(0, "127.0.0.1", () => {
              const { port } = server.address() as AddressInfo
              resolve({ url: `http://127.0.0.1:${port}/hook`, bodies, close: () => server.close() })
            })
          }
        )
    ),
    ({ close }) => Effect.sync(close)
  )

const fail = (error: TrainerError.TrainerError, stopWebhook: string) =>
  Effect.fail(error).pipe(
    StopWebhook.telling({ run: "r", stopWebhook }),
    Effect.mapError(Services.toFailure),
    Effect.flip
  )

describe("StopWebhook", () => {
  it.live("tells of a run that was ended, and lets it fail with exit code 3, whatever the address answers", () =>
    Effect.gen(function* () {
      for (const status of [204, 500]) {
        const { bodies, url } = yield* listening(status)
        const error = yield* Effect.flip(
          Effect.fail(stopped).pipe(
            StopWebhook.telling({ run: "nightly", stopWebhook: url }),
            Effect.mapError(Services.toFailure)
          )
        )
        assert.strictEqual(error[Runtime.errorExitCode], 3)
        const message = "stopped by stop_on. Reward collapsed"
        assert.deepStrictEqual(
          bodies.map((body): unknown => JSON.parse(body)),
          [{ run: "nightly", message, text: `nightly: ${message}` }]
        )
      }
    })
  )

  it.live("says nothing of other failures, nor where nobody is to be told", () =>
    Effect.gen(function* () {
      const { bodies, url } = yield* listening(204)
      const other = new TrainerError.TrainerError({ reason: "service", message: "refused" })
      assert.strictEqual((yield* fail(other, url))[Runtime.errorExitCode], 1)
      assert.strictEqual((yield* fail(stopped, ""))[Runtime.errorExitCode], 3)
      assert.deepStrictEqual(bodies, [])
      // Nobody there: told in the log, and the failure stays what it is.
      assert.strictEqual((yield* fail(stopped, "http://127.0.0.1:9/"))[Runtime.errorExitCode], 3)
    })
  )
})
