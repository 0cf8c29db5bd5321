/** Reads key presses while a board is shown. The terminal echoes nothing meanwhile; Ctrl-C still stops the command. */
import { Context, Effect, Option } from "effect"

type Input = Pick<NodeJS.ReadStream, "on" | "pause" | "removeAllListeners" | "resume"> & {
  readonly setRawMode: (isRaw: boolean) => unknown
}

/** None without an interactive terminal. */
export const Keys = Context.Reference<Option.Option<Input>>("@atropos/cli/Keys", {
  defaultValue: () => (process.stdin.isTTY ? Option.some(process.stdin) : Option.none())
})

const interrupt = "\u0003"

export const pressed =
  (key: string) =>
  (input: Input): Effect.Effect<void> =>
    Effect.acquireUseRelease(
      Effect.sync(() => input.setRawMode(true)),
      () =>
        Effect.callback<void>((resume) => {
          const hear = (chunk: Uint8Array | string): void => {
            const keys = String(chunk)
            // In raw mode the terminal does not turn Ctrl-C into a signal.
            if (keys.includes(interrupt)) process.kill(process.pid, "SIGINT")
            else if (keys.toLowerCase().includes(key)) resume(Effect.void)
          }
          input.on("data", hear)
          input.resume()
        }),
      () =>
        Effect.sync(() => {
          input.removeAllListeners("data")
          input.setRawMode(false)
          input.pause()
        })
    )
