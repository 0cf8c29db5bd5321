import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem } from "effect"
import { dirname } from "node:path"
import * as TorchInstall from "../../src/torch/TorchInstall.ts"

const lock = `# made by a program
numpy==2.4.6 \\
    --hash=sha256:aa
    # via -r requirements.in
nvidia-nccl-cu13==2.29.7 ; sys_platform == 'linux' \\
    --hash=sha256:bb
torch==2.13.0 \\
    --hash=sha256:cc
transformers==5.23.0 \\
    --hash=sha256:dd
triton==3.7.1 ; sys_platform == 'linux' \\
    --hash=sha256:ee
`
const options = { build: "cpu", python: "python3", uv: undefined, index: undefined } as const

const cached = <A, E, R>(use: (folder: string) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    const config = ConfigProvider.fromEnv({ env: { ATROPOS_CACHE_DIR: folder } })
    return yield* use(folder).pipe(Effect.provideService(ConfigProvider.ConfigProvider, config))
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

describe("installing PyTorch", () => {
  it("leaves CUDA's libraries out of a CPU build, whose torch has no hash in the lock", () => {
    const { lock: kept, torch } = TorchInstall.lockOf(lock, "cpu")
    assert.strictEqual(torch, "torch==2.13.0")
    assert.match(kept, /^numpy==2\.4\.6 .*transformers==5\.23\.0 /s)
    assert.notMatch(kept, /nvidia|triton|^torch==/m)
    assert.deepStrictEqual(TorchInstall.lockOf(lock, "cuda"), { lock, torch: undefined })
  })

  it("requires hashes, with pip or uv, and takes CPU builds from their index", () => {
    const of = (more: Partial<TorchInstall.Options>, torch?: string) =>
      TorchInstall.commands({ ...options, ...more }, "/env", "/lock.txt", torch).map((words) => words.join(" "))
    assert.deepStrictEqual(of({ build: "cuda" }), [
      "python3 -m venv /env",
      "/env/bin/python -m pip install --disable-pip-version-check --no-input --require-hashes --no-deps -r /lock.txt"
    ])
    assert.deepStrictEqual(of({ uv: "/bin/uv", python: "python3.12" }, "torch==2.13.0"), [
      "/bin/uv venv --python python3.12 /env",
      "/bin/uv pip install --python /env/bin/python --require-hashes --no-deps -r /lock.txt",
      "/bin/uv pip install --python /env/bin/python --no-deps --torch-backend cpu torch==2.13.0"
    ])
    assert.match(of({ index: "https://example.com/cpu" }, "torch==2.13.0")[2]!, /--extra-index-url https:.* torch==2/)
  })

  it.live("makes an environment whole or not at all, once, and the engine uses it", () =>
    cached(() =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        assert.strictEqual(yield* TorchInstall.interpreter(null), "python3")
        let ran = 0
        /** Does what `python -m venv` does; the last command line fails at first. */
        const run = (isBroken: boolean) => (words: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            ran++
            if (words[2] === "venv") {
              yield* fs.makeDirectory(`${words[3]}/bin`, { recursive: true })
              yield* fs.writeFileString(`${words[3]}/bin/python`, "")
            }
            if (words[1] === "-c" && isBroken) return yield* Effect.fail("no module torch" as const)
          })
        assert.strictEqual(yield* Effect.flip(TorchInstall.install(options, run(true))), "no module torch")
        assert.strictEqual(yield* TorchInstall.interpreter(null), "python3")
        const made = yield* TorchInstall.install(options, run(false))
        assert.deepStrictEqual(yield* fs.readDirectory(dirname(dirname(dirname(made)))), [
          dirname(dirname(made)).split("/").at(-1)!
        ])
        ran = 0
        assert.strictEqual(yield* TorchInstall.install(options, run(false)), made)
        assert.strictEqual(ran, 0)
        assert.strictEqual(yield* TorchInstall.interpreter(null), made)
        assert.strictEqual(yield* TorchInstall.interpreter("/mine/python"), "/mine/python")
      })
    )
  )
})
