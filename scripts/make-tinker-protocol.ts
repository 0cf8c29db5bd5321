/**
 * Writes `tinker_pb.ts` from `tinker.proto`: `node scripts/make-tinker-protocol.ts`.
 *
 * Installs the compiler (buf, protoc-gen-es) into a temporary folder; only its output is kept.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const folder = join(import.meta.dirname, "../packages/trainer/src/tinker/protocol/gen")
const trainer: unknown = JSON.parse(readFileSync(join(import.meta.dirname, "../packages/trainer/package.json"), "utf8"))
const { dependencies } = trainer as { dependencies: Record<string, string> }

const work = mkdtempSync(join(tmpdir(), "tinker-protocol-"))
const run = (command: string, ...parameters: Array<string>) =>
  execFileSync(command, parameters, {
    cwd: work,
    stdio: "inherit",
    env: { ...process.env, PATH: `${join(work, "node_modules/.bin")}:${process.env["PATH"]}` }
  })
try {
  writeFileSync(join(work, "package.json"), "{}")
  run(
    "npm",
    "install",
    "--silent",
    "@bufbuild/buf@1.75.0",
    `@bufbuild/protoc-gen-es@${dependencies["@bufbuild/protobuf"]}`
  )
  writeFileSync(
    join(work, "buf.gen.yaml"),
    "version: v2\nplugins:\n  - local: protoc-gen-es\n    out: .\n    opt: [target=ts, erasable_syntax=true]\n"
  )
  copyFileSync(join(folder, "tinker.proto"), join(work, "tinker.proto"))
  run("buf", "generate")
  copyFileSync(join(work, "tinker_pb.ts"), join(folder, "tinker_pb.ts"))
} finally {
  rmSync(work, { recursive: true })
}
