import { assert, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import * as Executable from "../../src/base/system/Executable.ts"

it("finds the first executable file of a name: no folder, and no file that cannot be run", () => {
  const root = mkdtempSync(join(tmpdir(), "atropos-executable-"))
  try {
    const folders = ["folder", "plain", "first", "second"].map((name) => join(root, name))
    for (const folder of folders) mkdirSync(folder)
    const [folder = "", plain = "", first = "", second = ""] = folders.map((one) => join(one, "tool"))
    mkdirSync(folder)
    writeFileSync(plain, "", { mode: 0o644 })
    for (const file of [first, second]) writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 })
    const path = ["", join(root, "missing"), ...folders].join(delimiter)
    assert.strictEqual(Executable.find("tool", path), first)
    assert.isUndefined(Executable.find("other", path))
    assert.isUndefined(Executable.find("tool", ""))
  } finally {
    rmSync(root, { recursive: true })
  }
})
