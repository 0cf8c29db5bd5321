/**
 * `atropos view`: shows saved groups in a browser, live while their files grow, or writes them to one HTML file;
 * without files, opens the viewer of a service.
 */
import { StoredRollouts, Tokenizer } from "@atropos/core"
import * as JsonLines from "@atropos/core/data/JsonLines"
import * as SavedGroup from "@atropos/core/service/SavedGroup"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Config, Console, Effect, FileSystem, Layer, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { pathToFileURL } from "node:url"
import * as CommandLine from "../base/CommandLine.ts"
import * as BundledModel from "../config/BundledModel.ts"
import * as Flags from "../config/Flags.ts"
import * as Services from "../config/Services.ts"
import { UsageError } from "../base/Failure.ts"
import * as Browser from "../view/Browser.ts"
import * as FaultLog from "../base/FaultLog.ts"
import * as OpenSessions from "../gateway/OpenSessions.ts"
import * as FileIndex from "../view/FileIndex.ts"
import * as SavedMetrics from "../view/SavedMetrics.ts"
import * as StaticPage from "../view/StaticPage.ts"
import * as Viewer from "../view/Viewer.ts"
import type { MakeCommand } from "./CliCommand.ts"

const name: string = "view"

interface FlagValues {
  readonly files: ReadonlyArray<string>
  readonly out: Option.Option<string>
  readonly metrics: ReadonlyArray<string>
  readonly title: Option.Option<string>
  readonly tokenizer: Option.Option<string>
  readonly host: string
  readonly port: number
  readonly open: boolean
  readonly apiUrl: string
}

const tokenizerOf = ({ tokenizer }: FlagValues) =>
  Option.match(tokenizer, {
    onNone: () => Effect.succeedNone,
    onSome: (named) =>
      Effect.asSome(Tokenizer.Tokenizer.pipe(Effect.provide(Tokenizer.layerNamed(BundledModel.located(named)))))
  })

const write = Effect.fnUntraced(function* (flags: FlagValues, out: string) {
  const faults = FaultLog.make()
  const title = Option.getOrElse(flags.title, () => flags.files.join(", "))
  const { bytes, groups, leftOut, path } = yield* StaticPage.write({
    title,
    files: flags.files,
    out,
    metrics: yield* SavedMetrics.read(flags.metrics, faults.report),
    tokenizer: yield* tokenizerOf(flags),
    onFault: faults.report,
    onNote: Console.error
  }).pipe(Effect.ensuring(faults.end))
  yield* Console.log(StaticPage.summary({ bytes, groups, leftOut, path }))
  if (flags.open) yield* Browser.open(pathToFileURL(out).href)
})

const serve = Effect.fnUntraced(function* (flags: FlagValues) {
  const { files, host, port } = flags
  const faults = FaultLog.make()
  const run = yield* Effect.context()
  const index = yield* FileIndex.make({
    files,
    onFault: (fault) => void Effect.runForkWith(run)(faults.report(fault)),
    onNote: (note) => void Effect.runForkWith(run)(Console.error(note))
  })
  const announce = Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const url = `${HttpServer.formatAddress(address)}/ui#/groups`
      yield* Console.log(`${files.length === 1 ? files[0] : `${files.length} files`}: ${url}`)
      yield* Console.log("new groups appear as the files grow; Ctrl-C stops")
      if (flags.open) yield* Browser.open(url)
    })
  )
  return yield* announce.pipe(
    Layer.provide(Viewer.layer({ files, index, host, port, tokenizer: yield* tokenizerOf(flags) })),
    Layer.launch
  )
}, Effect.scoped)

const point = Effect.fnUntraced(function* ({ apiUrl, open }: FlagValues) {
  const url = apiUrl.replace(/(?<!\/)\/+$/, "")
  const token = yield* Effect.orDie(Config.option(Config.Redacted("ATROPOS_TOKEN")))
  const service = StoredRollouts.layer({ url, ...(Option.isSome(token) && { token: token.value }) })
  yield* Effect.flatMap(StoredRollouts.StoredRollouts, ({ live }) => live).pipe(
    Effect.provide(service),
    Effect.mapError(
      ({ message }) =>
        new UsageError({
          message: `${message}. Give files of saved groups, or the --api-url of a running service`
        })
    )
  )
  yield* Console.log(`viewer of the service: ${url}/ui`)
  if (open) yield* Browser.open(`${url}/ui`)
})

const view = Effect.fnUntraced(function* (flags: FlagValues) {
  const { files, out } = flags
  if (flags.metrics.length > 0 && Option.isNone(out)) {
    return yield* new UsageError({
      message: `--metrics adds curves to a saved page: also give --out (${CommandLine.of("view groups.jsonl --metrics metrics.jsonl --out run.html")})`
    })
  }
  if (files.length === 0) {
    if (Option.isSome(out)) {
      return yield* new UsageError({
        message: `--out needs files of saved groups: ${CommandLine.of("view groups.jsonl --out groups.html")}`
      })
    }
    return yield* point(flags)
  }
  yield* Effect.forEach(files, (file) => JsonLines.inspect(file, SavedGroup.expected)).pipe(
    Effect.mapError(({ message }) => new UsageError({ message }))
  )
  const open = yield* Effect.forEach(files, OpenSessions.note)
  for (const note of open) if (note !== undefined) yield* Console.error(note)
  if (Option.isSome(out)) return yield* write(flags, out.value)
  const fs = yield* FileSystem.FileSystem
  for (const file of files) {
    const { type } = yield* fs.stat(file)
    if (type !== "File") {
      return yield* new UsageError({
        message: `${file} is a pipe or a device, which is not seekable: save it as a file, or use --out`
      })
    }
  }
  return yield* serve(flags)
})

export const make: MakeCommand = () =>
  Effect.succeed({
    booleans: new Set(["open"]),
    command: Command.make(
      name,
      {
        files: Argument.String("file.jsonl").pipe(
          Argument.withDescription("files of saved groups; without any, print the viewer URL of a running service"),
          Argument.variadic()
        ),
        out: Flag.String("out").pipe(
          Flag.withDescription("write the groups to one self-contained HTML file instead of serving them"),
          Flag.withMetavar("file.html"),
          Flag.optional
        ),
        metrics: Flag.String("metrics").pipe(
          Flag.withDescription(
            "metrics file (metrics.jsonl of a run's folder) whose curves are added to that file; repeat for several"
          ),
          Flag.withMetavar("metrics.jsonl"),
          Flag.atLeast(0)
        ),
        title: Flag.String("title").pipe(Flag.withDescription("title of the HTML file"), Flag.optional),
        tokenizer: Flag.String("tokenizer").pipe(
          Flag.withDescription(
            'tokenizer to show tokens as text: hub id, folder or "bytes" [default: token ids are shown]'
          ),
          Flag.optional
        ),
        host: Flag.String("host").pipe(
          Flag.withDescription("address to listen on [default: 127.0.0.1]"),
          Flag.withDefault("127.0.0.1")
        ),
        port: Flags.port("port to listen on; 0 picks a free port", 9001),
        open: Flag.Boolean("open").pipe(Flag.withDescription("open the viewer in a browser"), Flag.withDefault(false)),
        apiUrl: Flag.String("api-url").pipe(
          Flag.withDescription(
            "service whose viewer URL to print, if no files are given [default: http://localhost:8000]"
          ),
          Flag.withDefault("http://localhost:8000")
        )
      },
      (flags) => view(flags).pipe(Effect.provide(NodeHttpClient.layerUndici), Effect.mapError(Services.toFailure))
    ).pipe(
      Command.withExamples([
        {
          command: "atropos view data/gsm8k.jsonl --open",
          description: "saved groups, updated while process writes them"
        },
        { command: "atropos view a.jsonl b.jsonl --out both.html", description: "one file to share" },
        { command: "atropos view", description: "URL of the viewer of the service at http://localhost:8000" }
      ])
    )
  })
