/**
 * Problems of programming contests: a program reads standard input and prints, or a function is called, and the output
 * is compared with the expected one.
 *
 * Rows as in LiveCodeBench: `question_content`, `starter_code`, `public_test_cases` and `private_test_cases` (JSON
 * lists of `input`, `output` and `testtype`; the private ones may be compressed: base64 of zlib of a pickled text), and
 * `metadata` with `func_name` if the problem asks for a function.
 */
import { inflateSync } from "node:zlib"
import { Option, Result, Schema } from "effect"
import * as Pickled from "./Pickled.ts"

export interface Case {
  readonly input: string
  readonly output: string
}

export interface Contest {
  /** The function to call, with one JSON argument per line of the input; without it, a whole program is run. */
  readonly call?: string
  /** Unpacked at every call: the cases of a whole data set would not fit into memory. */
  readonly cases: () => ReadonlyArray<Case>
}

const Cases = Schema.Array(
  Schema.Struct({
    input: Schema.String,
    output: Schema.String,
    testtype: Schema.optionalKey(Schema.Literals(["stdin", "functional"]))
  })
)
const decodeCases = Schema.decodeUnknownOption(Cases)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))
const decodeMetadata = Schema.decodeUnknownOption(
  Schema.Struct({ func_name: Schema.optionalKey(Schema.NullOr(Schema.String)) })
)

/** Maximum size of unpacked cases, in bytes. */
const largest = 128 * 2 ** 20

const unpacked = (packed: string): Result.Result<string, string> =>
  Result.flatMap(
    Result.try({
      try: () => inflateSync(Buffer.from(packed, "base64"), { maxOutputLength: largest }),
      catch: (cause) => (cause instanceof Error ? cause.message : String(cause))
    }),
    Pickled.text
  )

const asJson = (value: unknown): Option.Option<unknown> =>
  typeof value === "string" ? decodeJson(value) : Option.some(value)

/** Cases of a column: JSON, as text or as a value, or packed. */
const casesOf = (column: string, value: unknown): Result.Result<typeof Cases.Type, string> => {
  if (value === null || value === undefined || value === "") return Result.succeed([])
  let json = asJson(value)
  if (Option.isNone(json) && typeof value === "string") {
    const text = unpacked(value)
    if (Result.isFailure(text)) return Result.fail(`its ${column} are neither JSON nor packed JSON: ${text.failure}`)
    json = decodeJson(text.success)
  }
  return Option.match(Option.flatMap(json, decodeCases), {
    onNone: () => Result.fail(`its ${column} are not a list of input and output`),
    onSome: Result.succeed
  })
}

/** A sandbox's output limit, minus a margin, in bytes; longer outputs cannot be compared. */
const maxOutputLength = 60_000

/** The columns of a row that define its cases. */
interface Row {
  readonly publicTestCases: unknown
  readonly privateTestCases: unknown
  readonly metadata: unknown
}

/** The cases of a row whose output is short enough, the public ones first; or the reason if none. */
const readCases = ({ privateTestCases, publicTestCases }: Row): Result.Result<typeof Cases.Type, string> =>
  Result.gen(function* () {
    const visible = yield* casesOf("public_test_cases", publicTestCases)
    const hidden = yield* casesOf("private_test_cases", privateTestCases)
    const all = [...visible, ...hidden]
    const cases = all.filter(({ output }) => Buffer.byteLength(output) <= maxOutputLength)
    if (cases.length > 0) return cases
    const reason =
      all.length === 0 ? "it has no test cases" : `the outputs of all its test cases exceed ${maxOutputLength} bytes`
    return yield* Result.fail(reason)
  })

const isJson = (text: string): boolean => Option.isSome(decodeJson(text))

/** Lines that are not JSON would fail every program. */
const isCallable = ({ input, output }: Case): boolean =>
  isJson(output) && input.split("\n").every((line) => line.trim() === "" || isJson(line))

/** The contest of a row, or the reason if none. */
export const ofRow = (row: Row): Result.Result<Contest, string> =>
  Result.gen(function* () {
    const first = yield* readCases(row)
    // These cases were parsed successfully above.
    const cases = () => Result.getOrThrow(readCases(row))
    if (!first.some(({ testtype }) => testtype === "functional")) return { cases }
    if (first.some(({ testtype }) => testtype !== "functional")) {
      return yield* Result.fail("some of its tests are functional and some are not")
    }
    const metadata = Option.flatMap(asJson(row.metadata ?? "{}"), decodeMetadata)
    const call = Option.getOrUndefined(metadata)?.func_name ?? undefined
    if (call === undefined) return yield* Result.fail("its tests are functional, and its metadata has no func_name")
    if (!/^[A-Za-z_]\w{0,100}$/.test(call)) {
      return yield* Result.fail(`its func_name ${JSON.stringify(call.slice(0, 100))} is not a function name`)
    }
    const broken = first.findIndex((one) => !isCallable(one))
    if (broken !== -1) {
      return yield* Result.fail(`in its functional test ${broken + 1}, arguments or value are not JSON, one per line`)
    }
    return { call, cases }
  })

/** The function of a case, whose return value is compared with the expected one. */
export const callName = "atropos_case"

/** Python that calls the function as LiveCodeBench does: of `Solution` if defined; a tuple counts as a list. */
export const calling = (name: string): string => `
def ${callName}(text):
    arguments = [json.loads(line) for line in text.split("\\n") if line.strip()]
    owner = globals().get("Solution")
    function = globals()["${name}"] if owner is None else getattr(owner(), "${name}")
    value = function(*arguments)
    return list(value) if isinstance(value, tuple) else value
`
