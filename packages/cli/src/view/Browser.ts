/** Opens a URL or file with the system's default program. */
import { Console, Effect } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

const commands: { readonly [platform: string]: readonly [string, ...ReadonlyArray<string>] } = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""]
}

/** If nothing can be opened, this is reported but not a failure. */
export const open = Effect.fn("Browser.open")(function* (target: string) {
  const [command, ...words] = commands[process.platform] ?? ["xdg-open"]
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  yield* spawner.exitCode(ChildProcess.make(command, [...words, target])).pipe(
    Effect.filterOrFail((code) => Number(code) === 0),
    Effect.asVoid,
    Effect.catch(() => Console.error(`could not open a browser (${command}): open ${target} yourself`))
  )
})
