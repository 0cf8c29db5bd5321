/**
 * A process with secrets in its environment and its descriptors: runs the programs from stdin in the sandboxes named,
 * and prints what they print.
 */
import { Effect } from "effect"
import { text } from "node:stream/consumers"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"

const [kind] = process.argv.slice(2)
const program = JSON.parse(await text(process.stdin)) as Parameters<Sandbox.SandboxShape["run"]>[0]
const layer = kind === "bubblewrap" ? Sandbox.layerBubblewrap() : Sandbox.layerWasi()
const run = Sandbox.Sandbox.use((sandbox) => sandbox.run(program, { timeMillis: 30_000 }))
const { ending, stderr, stdout } = await Effect.runPromise(Effect.provide(run, layer))
process.stdout.write(`${ending}\n${stdout}${stderr}`)
