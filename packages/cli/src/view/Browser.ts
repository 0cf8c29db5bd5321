/** Opens an address or a file with whatever this machine opens such things with. */
import { Console, Effect } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

const commands: { readonly [platform: string]: readonly [string, ...ReadonlyArray<string>] } = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

/** Where nothing can be opened, says so; that is no failure. */
export const open = Effect.fn("Browser.open")(function* (target: string) {
  const [command, ...words] = commands[process.platform] ?? ["xdg-open"]
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  yield* spawner.exitCode(ChildProcess.make(command, [...words, target])).pipe(
    Effect.filterOrFail((code) => Number(code) === 0),
    Effect.asVoid,
    Effect.catch(() => Console.error(`could not open a browser (${command}): open ${target} yourself`))
  )
})
