/**
 * Resolves `--suite`: a bundled evaluation by name, or a YAML file of the same shape.
 *
 * The bundled ones are the files of `suites/` in this package; no other list exists. An invalid file is reported with
 * the line of the mistake.
 */
import { hint } from "@atropos/core/base/Nearest"
import { Suite } from "@atropos/envs"
import { Effect, FileSystem, Path, Predicate, Schema, SchemaIssue } from "effect"
import { UsageError } from "../base/Failure.ts"
import type { Chosen } from "./Environments.ts"
import { formatValue } from "./FormatValue.ts"
import * as UserFile from "./UserFile.ts"
import * as YamlFile from "./YamlFile.ts"

export interface Named {
  readonly word: string
  readonly suite: Suite.Suite
}

const folder = Effect.flatMap(Path.Path, (path) =>
  Effect.orDie(path.fromFileUrl(new URL("../../suites", import.meta.url)))
)

const decode = Schema.decodeUnknownEffect(Suite.Suite)
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** Unknown keys are errors: a misspelt key would be silently ignored. */
const strict = { onExcessProperty: "error", errors: "first" } as const

export const read = Effect.fn("Suites.read")(function* (file: string) {
  const { content, document, lines } = yield* YamlFile.read(file, "--suite")
  return yield* decode(content, strict).pipe(
    Effect.mapError((error) => {
      const [issue] = formatIssue(error.issue).issues
      const path = (issue?.path ?? []).map((part) => (typeof part === "object" ? part.key : part) as string | number)
      const node = path.length === 0 ? undefined : document.getIn(path, true)
      const range = Predicate.hasProperty(node, "range")
        ? (node.range as readonly [number, number, number] | undefined)
        : undefined
      const place = range === undefined ? file : `${file}:${lines.linePos(range[0]).line}`
      const value = path.reduce<unknown>(
        (inner, key) =>
          Predicate.isReadonlyObject(inner) ? (inner as Record<string | number, unknown>)[key] : undefined,
        content
      )
      const problem = (issue?.message ?? error.message).replace(/^Expected/, "expected").split("\n")[0] ?? ""
      return new UsageError({
        message: `${place}: ${path.join(".") || "the suite"}: ${problem}, got ${formatValue(value)}`
      })
    })
  )
})

export const names = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const files = yield* Effect.orDie(fs.readDirectory(yield* folder))
  return files.flatMap((file) => (file.endsWith(".yaml") ? [file.slice(0, -".yaml".length)] : [])).sort()
})

export const choose = Effect.fn("Suites.choose")(function* (word: string) {
  const path = yield* Path.Path
  const known = yield* names
  const file = known.includes(word)
    ? path.join(yield* folder, `${word}.yaml`)
    : UserFile.isPath(word)
      ? word
      : undefined
  if (file === undefined) {
    return yield* new UsageError({
      message: `--suite ${word}: unknown suite${hint(word, known) || "."} Available: ${known.join(", ")}. For a file, give its path, for example ./${word}.yaml`
    })
  }
  return { word, suite: yield* read(file) } satisfies Named
})

export const all = Effect.flatMap(names, (known) => Effect.forEach(known, choose))

export const asChosen = (suite: Suite.Suite): Chosen => ({
  environment: Suite.environment(suite),
  description: `${suite.title}: ${suite.about}`,
  about: {
    family: "data sets",
    needs: ["download", ...(Suite.asksJudge(suite.score) ? (["judge"] as const) : [])],
    dataLicence: suite.licence
  }
})
