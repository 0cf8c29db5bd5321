import { assert, it } from "@effect/vitest"
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
 * What each of the spies sees that runs in the sandbox of a process which has the secret in its environment and as a
 * descriptor.
 */
const seen = Effect.fnUntraced(function* (kind: Sandbox.Kind) {
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
  child.stdin!.end(JSON.stringify(Object.values(spies)))
  return JSON.parse(yield* Effect.promise(() => text(child.stdout!))) as ReadonlyArray<string>
}, Effect.scoped)

const works = await Effect.runPromise(Effect.result(Effect.provide(Sandbox.trial, Sandbox.layerBubblewrap())))

for (const kind of ["wasi", "bubblewrap"] as const) {
  it.live.skipIf(kind === "bubblewrap" && works._tag === "Failure")(
    `the secrets of this process are not there for any program, under ${kind}`,
    () =>
      Effect.gen(function* () {
        const all = yield* seen(kind)
        for (const [index, what] of Object.keys(spies).entries()) {
          assert.match(all[index]!, /^finished\n/, what)
          assert.include(all[index], "looked at", what)
          assert.notInclude(all[index], secret, what)
          assert.notInclude(all[index], "HF_TOKEN", what)
          assert.notInclude(all[index], "not opened for this program", what)
        }
      })
  )
}
