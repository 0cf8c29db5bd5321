/** Runs the command on two streams: those of its process, or those of a program that embeds it. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as EffectTerminal from "effect/Terminal"
import * as Presentation from "./help/Presentation.ts"
import * as Report from "./base/Report.ts"
import * as Root from "./Root.ts"
import * as Terminal from "./base/Terminal.ts"

export interface Streams {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
}

/**
 * Runs the command with these arguments (without `node` and the script). From here on both streams escape what is
 * written to them: libraries that bypass the command's console may print model output too.
 */
export const run = (words: ReadonlyArray<string>, streams: Streams, ending: Report.Ending = { isDone: false }) =>
  Effect.suspend(() => {
    const footer = Terminal.footerOn(streams.stderr)
    const stdout = Terminal.guard(streams.stdout, footer)
    const stderr = Terminal.guard(streams.stderr, footer)
    return Root.run(words).pipe(
      Effect.updateService(EffectTerminal.Terminal, (terminal) => Terminal.drawingOn(terminal, stdout)),
      Effect.provide([Presentation.layer, NodeServices.layer]),
      Effect.provideService(Terminal.Footer, footer),
      Effect.provideService(Report.Ending, ending),
      Effect.provideService(Console.Console, Terminal.consoleOn(stdout, stderr))
    )
  })
