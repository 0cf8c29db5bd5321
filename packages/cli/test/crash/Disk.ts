/** A disk that is full: a small file system in memory, where this user may mount one. */
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const mount = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-test-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" })
  return folder
}

const unmount = (folder: string): void => {
  execFileSync("umount", ["-l", folder], { stdio: "ignore" })
  rmSync(folder, { recursive: true })
}

const whyNot = (): string | undefined => {
  try {
    unmount(mount())
    return undefined
  } catch {
    return " (skipped: a full disk is made with mount, which this user may not)"
  }
}

/** Why there is no full disk here, for the name of a skipped test; undefined where there is one. */
export const reason: string | undefined = whyNot()

/** A folder on a full disk, with room for folders and for files of nothing. */
export const full = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mount()
    try {
      writeFileSync(join(folder, "filling"), new Uint8Array(1024 * 1024))
    } catch {
      // Full now.
    }
    return folder
  }),
  (folder) => Effect.sync(() => unmount(folder))
)
