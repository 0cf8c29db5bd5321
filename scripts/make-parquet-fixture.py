"""Writes packages/core/test/fixtures/parquet/: two parquet files of one small table, with the codecs and types that the hub's files have.

Needs `pyarrow` (written with 26.0.1). The result is committed; run this again only to change it:
    python scripts/make-parquet-fixture.py
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = pathlib.Path(__file__).parent.parent / "packages" / "core" / "test" / "fixtures" / "parquet"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for file, codec, start in [("0.parquet", "snappy", 0), ("1.parquet", "zstd", 5)]:
        rows = [
            {"id": n, "question": f"What is {n} + {n}?", "answer": f"#### {2 * n}", "choices": [f"{n}", "é"], "meta": {"big": 2**60 if n == 7 else n}}
            for n in range(start, start + 5)
        ]
        pq.write_table(pa.Table.from_pylist(rows), FOLDER / file, compression=codec, row_group_size=2)


if __name__ == "__main__":
    main()
