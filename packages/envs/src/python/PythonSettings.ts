/** Chooses the Python for a package: the user's choice, else uv, which installs the package, else python3. */
import { Environment } from "@atropos/core"
import * as Executable from "@atropos/core/base/system/Executable"
import * as GameEnvironment from "../kit/GameEnvironment.ts"
import { Effect, Schema } from "effect"
import * as Words from "../base/Words.ts"
import { PythonError } from "./PythonError.ts"

export const fields = {
  python: Environment.field(
    Schema.NullOr(Schema.NonEmptyString),
    null,
    "the Python to run it with, such as .venv/bin/python; if unset, uv if installed (it provides the package), else python3"
  )
} as const

const { evaluationItems, groupSize, maxAnswerTokens, seed, temperature } = GameEnvironment.fields

/** Settings of environments with worlds or games of a package. */
export const worldFields = { groupSize, seed, maxAnswerTokens, temperature, evaluationItems, ...fields } as const

/** uv's variables, used if it installs a package, or a package starts it; none of these holds a secret. */
export const ofUv: ReadonlyArray<string> = [
  "UV_CACHE_DIR",
  "UV_LINK_MODE",
  "UV_NATIVE_TLS",
  "UV_OFFLINE",
  "UV_PYTHON",
  "UV_PYTHON_DOWNLOADS",
  "UV_PYTHON_PREFERENCE",
  "UV_SYSTEM_CERTS"
]

/** The command line of an interpreter for a package. */
export const words = (
  python: string | null,
  packages: string | ReadonlyArray<string>,
  path: string = process.env["PATH"] ?? ""
): Effect.Effect<ReadonlyArray<string>, PythonError> => {
  if (python !== null) {
    return Effect.mapError(
      Effect.fromResult(Words.split(python)),
      (reason) => new PythonError({ reason: "notFound", message: `python: ${reason}`, trace: [] })
    )
  }
  return Effect.succeed(
    Executable.find("uv", path) !== undefined
      ? ["uv", "run", "--no-project", ...[packages].flat().flatMap((one) => ["--with", one]), "python"]
      : ["python3"]
  )
}
