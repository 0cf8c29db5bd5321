/**
 * Serves the viewer over saved groups on this machine: the page, its data, and notifications about grown files. The
 * page looks for new groups when a run's summary changes. Files have no queue: their summary is that of an empty one.
 */
import * as Auth from "@atropos/api/http/Auth"
import * as HttpServer from "@atropos/api/http/HttpServer"
import * as Events from "@atropos/api/http/Events"
import { noQueue } from "@atropos/api/store/TrajectoryStore"
import * as ViewerPage from "@atropos/api/ViewerPage"
import * as ViewerService from "@atropos/api/ViewerService"
import { type Tokenizer, TrajectoryApi as Wire } from "@atropos/core"
import { Effect, Layer, type Option, Stream } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type * as FileIndex from "./FileIndex.ts"
import * as FileEvaluations from "./FileEvaluations.ts"
import * as FileReader from "./FileReader.ts"

export interface ViewerOptions {
  readonly files: ReadonlyArray<string>
  readonly index: FileIndex.FileIndex
  readonly tokenizer: Option.Option<Tokenizer.TokenizerShape>
  readonly host: string
  readonly port: number
}

const summaries = ({ files, index }: ViewerOptions) => {
  const names = FileReader.runNames(files)
  return HttpRouter.add(
    "GET",
    "/v1/runs/:run/events",
    Effect.map(HttpRouter.params, ({ run = "" }) => {
      const file = names.indexOf(run)
      if (file < 0) {
        return HttpServerResponse.jsonUnsafe({ error: "NotFound", message: `run not found: ${run}` }, { status: 404 })
      }
      const changes = Stream.concat(Stream.succeed(undefined), index.grown(file))
      return Events.response(
        "summary",
        Wire.QueueSummary,
        Stream.map(changes, () => noQueue)
      )
    })
  )
}

/** Listens until the scope closes. */
export const layer = (options: ViewerOptions) =>
  HttpServer.layer(Layer.merge(ViewerService.layer, summaries(options)), options).pipe(
    Layer.provide([
      FileEvaluations.layer({ ...options, names: FileReader.runNames(options.files) }),
      FileReader.layer(options),
      Auth.layerOpen,
      Layer.succeed(ViewerPage.GroupsOf, "files")
    ])
  )
