/**
 * Keys that are pressed while a board is shown. For as long as they are read, the terminal echoes nothing; what
 * stops a command (Ctrl-C) does so as ever.
 */
import { Context, Effect, Option } from "effect"

/** The terminal's input, as far as it is used here. */
type Input = Pick<NodeJS.ReadStream, "on" | "pause" | "removeAllListeners" | "resume"> & {
  readonly setRawMode: (isRaw: boolean) => unknown
}

/** None without a terminal to press keys in. */
export const Keys = Context.Reference<Option.Option<Input>>("@atropos/cli/Keys", {
  defaultValue: () => (process.stdin.isTTY ? Option.some(process.stdin) : Option.none())
})

const interrupt = "\u0003"

/** Waits until this key is pressed. */
export const pressed =
  (key: string) =>
  (input: Input): Effect.Effect<void> =>
    Effect.acquireUseRelease(
      Effect.sync(() => input.setRawMode(true)),
      () =>
        Effect.callback<void>((resume) => {
          const hear = (chunk: Uint8Array | string): void => {
            const keys = String(chunk)
            // Of a terminal whose keys are read one by one it is no signal.
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
