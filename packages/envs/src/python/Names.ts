/** Lists the data sets, environments or games of an installed Python package. */
import { Effect, Schema } from "effect"
import * as Variables from "../command/Variables.ts"
import * as ProcessSupervisor from "../command/ProcessSupervisor.ts"
import * as PythonProcess from "./PythonProcess.ts"
import * as PythonSettings from "./PythonSettings.ts"

const Names = Schema.Struct({ names: Schema.Array(Schema.String) })

/** `python`: as the setting of that name. */
export const of =
  (kind: string, packageName: string) =>
  ({ python }: { readonly python: string | null }) =>
    Effect.gen(function* () {
      const process = yield* PythonProcess.start({
        supervisor: yield* ProcessSupervisor.make,
        words: yield* PythonSettings.words(python, packageName),
        packageName,
        variables: Variables.kept(PythonSettings.ofUv)
      })
      const { names } = yield* Schema.decodeUnknownEffect(Names)(yield* process.ask("list", { kind }))
      return names
    }).pipe(Effect.scoped)
