/**
 * Stores weights on disk: `<folder>/<model>/weights/<name>` and `…/sampler_weights/<name>`, each a PEFT folder with
 * `checkpoint.json`; those of `weights` also have the optimizer's moments (`trainer_state.safetensors`). Written
 * atomically (`AtomicFolder`); removed once expired. Weights of sampling sessions are under `.snapshots`, until the
 * server ends.
 */
import * as MakeFolder from "@atropos/core/base/system/MakeFolder"
import { Clock, DateTime, Effect, FileSystem, Path, Schema } from "effect"
import * as AtomicFolder from "../../checkpoint/AtomicFolder.ts"
import * as StateFile from "../../local/StateFile.ts"
import type * as OptimizerThread from "../../local/OptimizerThread.ts"
import * as Peft from "../../model/Peft.ts"
import * as Adapters from "./Adapters.ts"
import * as CheckpointPath from "./CheckpointPath.ts"
import { broken, notFound, type Refused, wrong } from "./Failures.ts"
import type * as Model from "../../model/Model.ts"

/** Range of valid dates: a damaged file must not break every list that contains it. */
const time = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 8.64e15 }))

const Info = Schema.Struct({
  format: Schema.Literal(1),
  base_model: Schema.String,
  model_id: Schema.String,
  rank: Schema.Natural,
  alpha: Schema.Finite,
  train_attn: Schema.Boolean,
  train_mlp: Schema.Boolean,
  updates: Schema.Natural,
  /** Milliseconds since 1970. */
  created: time,
  expires: Schema.NullOr(time),
  user_metadata: Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))
})
export type Info = typeof Info.Type

const InfoFile = Schema.fromJsonString(Info)
const decodeInfo = Schema.decodeUnknownEffect(InfoFile)
const encodeInfo = Schema.encodeSync(InfoFile)

export interface Saved extends CheckpointPath.Address {
  readonly folder: string
  readonly info: Info
}

const infoFile = "checkpoint.json"
const stateFile = "trainer_state.safetensors"
const snapshots = ".snapshots"

/** Some file systems do not allow colons in folder names. */
const folderName = (modelId: string): string => modelId.replaceAll(":", "~")
const modelIdOf = (folder: string): string => folder.replaceAll("~", ":")

const failed = broken("the checkpoint")

export interface Saving {
  readonly model: Adapters.Adapted
  readonly snapshot: OptimizerThread.Snapshot
  readonly ttlSeconds: number | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

const filesOf = Effect.fnUntraced(function* (root: string) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  return {
    fs,
    join,
    here: <A, E>(effect: Effect.Effect<A, E, FileSystem.FileSystem | Path.Path>) =>
      Effect.provideContext(effect, services),
    /** Client-supplied ids and names must pass these checks to become a path. */
    folderOf: ({ kind, modelId, name }: CheckpointPath.Address) => {
      if (!CheckpointPath.isModelId(modelId) || !CheckpointPath.isName(name)) throw new Error(`no path: ${modelId}`)
      return join(root, folderName(modelId), kind, name)
    },
    list: (folder: string) => Effect.orElseSucceed(fs.readDirectory(folder), (): Array<string> => []),
    infoAt: (folder: string) => Effect.flatMap(fs.readFileString(join(folder, infoFile)), decodeInfo)
  }
})
type Files = Effect.Success<ReturnType<typeof filesOf>>

const fill =
  ({ fs, join }: Files, saving: Saving, info: Info, withMoments: boolean) =>
  (partial: string) =>
    Effect.gen(function* () {
      const { model, snapshot } = saving
      yield* model.write(partial, snapshot.parameters)
      if (withMoments) yield* StateFile.write(join(partial, stateFile), model.layout, snapshot)
      yield* fs.writeFileString(join(partial, infoFile), `${encodeInfo(info)}\n`)
    })

const infoOf = Effect.fnUntraced(function* (base: string, modelId: string, saving: Saving) {
  const { metadata, model, snapshot, ttlSeconds } = saving
  const created = yield* Clock.currentTimeMillis
  const { adapter, kind } = model
  return {
    format: 1,
    base_model: base,
    model_id: modelId,
    rank: kind.rank,
    alpha: adapter.alpha,
    train_attn: kind.trainAttn,
    train_mlp: kind.trainMlp,
    updates: snapshot.updates,
    created,
    expires: ttlSeconds === undefined ? null : created + 1000 * ttlSeconds,
    user_metadata: metadata ?? null
  } satisfies Info
})

const listingOf = (root: string, { folderOf, here, infoAt, join, list }: Files) => {
  /** An existing, unexpired checkpoint; its folder may still be damaged. */
  const find = (address: CheckpointPath.Address): Effect.Effect<Saved, Refused> =>
    Effect.gen(function* () {
      const folder = folderOf(address)
      const info = yield* Effect.mapError(infoAt(folder), () =>
        notFound(`checkpoint not found: ${CheckpointPath.of(address)}`)
      )
      if (info.expires !== null && info.expires <= (yield* Clock.currentTimeMillis)) {
        return yield* notFound(`the checkpoint ${CheckpointPath.of(address)} expired at ${iso(info.expires)}`)
      }
      return { ...address, folder, info }
    })

  const modelIds = Effect.map(list(root), (names) =>
    names.map(modelIdOf).filter((id) => CheckpointPath.isModelId(id) && !id.startsWith("."))
  )

  const ofModel = Effect.fnUntraced(function* (modelId: string) {
    if (!CheckpointPath.isModelId(modelId)) return []
    const found: Array<Saved> = []
    for (const kind of CheckpointPath.kinds) {
      for (const name of yield* list(join(root, folderName(modelId), kind))) {
        if (!CheckpointPath.isName(name)) continue
        const saved = yield* Effect.option(find({ modelId, kind, name }))
        if (saved._tag === "Some") found.push(saved.value)
      }
    }
    return found.toSorted((a, b) => a.info.created - b.info.created)
  })

  return {
    find,
    modelIds,
    ofModel,
    sweep: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const modelId of yield* modelIds) {
        for (const kind of CheckpointPath.kinds) {
          for (const name of yield* list(join(root, folderName(modelId), kind))) {
            if (!CheckpointPath.isName(name)) continue
            const folder = folderOf({ modelId, kind, name })
            const info = yield* Effect.option(infoAt(folder))
            if (info._tag === "None" || info.value.expires === null || info.value.expires > now) continue
            yield* Effect.ignore(here(AtomicFolder.remove(folder)), { log: true })
          }
        }
      }
    })
  }
}

export type CheckpointFolder = Effect.Success<ReturnType<typeof make>>

export const make = Effect.fnUntraced(function* (root: string, base: Model.Model) {
  const files = yield* filesOf(root)
  const { folderOf, fs, here, join, list } = files
  yield* MakeFolder.make(root)
  yield* fs.remove(join(root, snapshots), { recursive: true, force: true })

  const adaptedOf = ({ info, ...address }: Saved) =>
    info.base_model === base.name
      ? Effect.succeed(
          Adapters.adapt(base, { rank: info.rank, trainAttn: info.train_attn, trainMlp: info.train_mlp }, info.alpha)
        )
      : Effect.fail(wrong(`${CheckpointPath.of(address)} is of the model ${info.base_model}, not of ${base.name}`))

  return {
    root,
    ...listingOf(root, files),
    sizeOf: ({ folder }: Saved) =>
      Effect.gen(function* () {
        let bytes = 0
        for (const name of yield* list(folder)) bytes += Number((yield* fs.stat(join(folder, name))).size)
        return bytes
      }),
    /** Writes a checkpoint; replaces an existing one only with `overwrite`. */
    save: Effect.fnUntraced(function* (address: CheckpointPath.Address, saving: Saving, overwrite: boolean) {
      yield* CheckpointPath.check(address.name)
      const folder = folderOf(address)
      const isThere = yield* Effect.orElseSucceed(fs.exists(join(folder, infoFile)), () => false)
      if (isThere && !overwrite) {
        return yield* wrong(
          `the checkpoint ${CheckpointPath.of(address)} already exists: choose another name, or overwrite it`
        )
      }
      const info = yield* infoOf(base.name, address.modelId, saving)
      yield* Effect.mapError(fs.makeDirectory(join(folder, ".."), { recursive: true }), failed)
      yield* here(AtomicFolder.write(folder, fill(files, saving, info, address.kind === "weights"))).pipe(
        Effect.mapError(failed)
      )
      return CheckpointPath.of(address)
    }),
    /** Writes weights of a sampling session; returns their folder. */
    saveSnapshot: Effect.fnUntraced(function* (id: string, modelId: string, saving: Saving) {
      const folder = join(root, snapshots, folderName(id))
      yield* Effect.mapError(fs.makeDirectory(join(root, snapshots), { recursive: true }), failed)
      yield* here(
        AtomicFolder.write(folder, fill(files, saving, yield* infoOf(base.name, modelId, saving), false))
      ).pipe(Effect.mapError(failed))
      return folder
    }),
    readSnapshot: (folder: string, model: Adapters.Adapted) => Effect.mapError(here(Peft.read(folder, model)), failed),
    removeSnapshot: (folder: string) => Effect.ignore(fs.remove(folder, { recursive: true, force: true })),
    adaptedOf,
    readWeights: Effect.fnUntraced(function* (saved: Saved) {
      const model = yield* adaptedOf(saved)
      const parameters = yield* here(Peft.read(saved.folder, model)).pipe(Effect.mapError(failed))
      return { model, parameters }
    }),
    readState: Effect.fnUntraced(function* (saved: Saved) {
      const model = yield* adaptedOf(saved)
      const vectors = yield* here(StateFile.read(join(saved.folder, stateFile), model.layout)).pipe(
        Effect.mapError(failed)
      )
      return { model, snapshot: { ...vectors, updates: saved.info.updates } }
    }),
    remove: ({ folder }: Saved) => Effect.mapError(here(AtomicFolder.remove(folder)), failed),
    setExpiry: Effect.fnUntraced(function* ({ folder, info }: Saved, ttlSeconds: number | undefined) {
      const expires = ttlSeconds === undefined ? null : (yield* Clock.currentTimeMillis) + 1000 * ttlSeconds
      const path = join(folder, infoFile)
      yield* fs
        .writeFileString(`${path}.partial`, `${encodeInfo({ ...info, expires })}\n`)
        .pipe(Effect.andThen(fs.rename(`${path}.partial`, path)), Effect.mapError(failed))
    })
  }
})

export const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))
