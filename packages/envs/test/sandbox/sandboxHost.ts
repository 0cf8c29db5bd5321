/**
 * A process with secrets in its environment and its descriptors: runs the programs from stdin in the sandbox named, and
 * prints what each prints, as JSON.
 */
import { Effect } from "effect"
import { text } from "node:stream/consumers"
import * as Sandbox from "../../src/sandbox/Sandbox.ts"

const [kind] = process.argv.slice(2)
const programs = JSON.parse(await text(process.stdin)) as ReadonlyArray<Parameters<Sandbox.SandboxShape["run"]>[0]>
const layer = kind === "bubblewrap" ? Sandbox.layerBubblewrap() : Sandbox.layerWasi()
const run = (program: (typeof programs)[number]) =>
  Sandbox.Sandbox.use((sandbox) => sandbox.run(program, { timeMillis: 30_000 }))
const outcomes = await Effect.runPromise(Effect.provide(Effect.forEach(programs, run), layer))
process.stdout.write(JSON.stringify(outcomes.map(({ ending, stderr, stdout }) => `${ending}\n${stdout}${stderr}`)))
