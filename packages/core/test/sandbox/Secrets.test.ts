import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"
import { spies } from "./Hostile.ts"

const host = fileURLToPath(new URL("sandboxHost.ts", import.meta.url))
const secret = "hf_geheim"

/** A file with the secret in it, open. */
const openSecret = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "secrets-"))
    writeFileSync(join(folder, "secret"), secret)
    return { folder, descriptor: openSync(join(folder, "secret"), "r") }
  }),
  ({ descriptor, folder }) =>
    Effect.sync(() => {
      closeSync(descriptor)
      rmSync(folder, { recursive: true })
    })
)

// Node marks the first descriptors that it inherits as its own, and no others.
const far = 40

/**
 * What a program sees that runs in the sandbox of a process which has the secret in its environment and as a
 * descriptor.
 */
const seen = Effect.fnUntraced(function* (kind: Sandbox.Kind, program: Parameters<Sandbox.SandboxShape["run"]>[0]) {
  const { descriptor } = yield* openSecret
  const between = Array.from({ length: far - 3 }, () => "ignore" as const)
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--conditions=atropos-src", host, kind], {
        env: { ...process.env, HF_TOKEN: secret },
        stdio: ["pipe", "pipe", "inherit", ...between, descriptor]
      })
    ),
    (started) => Effect.sync(() => started.kill("SIGKILL"))
  )
  // Both are pipes, which the types cannot tell of a list of so many.
  child.stdin!.end(JSON.stringify(program))
  return yield* Effect.promise(() => text(child.stdout!))
}, Effect.scoped)

const works = await Effect.runPromise(Effect.result(Effect.provide(Sandbox.trial, Sandbox.layerBubblewrap())))

for (const kind of ["wasi", "bubblewrap"] as const) {
  describe.skipIf(kind === "bubblewrap" && works._tag === "Failure")(
    `the secrets of this process, under ${kind}`,
    () => {
      for (const [what, program] of Object.entries(spies)) {
        it.live(
          `are not there for a program that ${what}`,
          () =>
            Effect.gen(function* () {
              const all = yield* seen(kind, program)
              assert.match(all, /^finished\n/)
              assert.include(all, "looked at")
              assert.notInclude(all, secret)
              assert.notInclude(all, "HF_TOKEN")
              assert.notInclude(all, "not opened for this program")
            }),
          60_000
        )
      }
    }
  )
}
