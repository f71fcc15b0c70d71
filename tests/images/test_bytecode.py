import os
import subprocess
import sys

from bancada_images import bytecode


def run(folder):
    return subprocess.run(
        [sys.executable, "-I", bytecode.__file__, str(folder)], capture_output=True, text=True, check=False
    )


def test_everything_that_is_python_is_compiled_and_the_rest_is_named(tmp_path):
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "template.py").write_text("{{ not python }} at all\n")
    done = run(tmp_path)
    assert done.returncode == 0
    found = bytecode.compile_all(tmp_path)
    assert (found["modules"], found["compiled"], found["missing"]) == (2, 1, [])
    assert found["not_python"] == [str(tmp_path / "template.py")]


def test_bytecode_of_an_older_state_does_not_count(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("x = 1\n")
    bytecode.compile_all(tmp_path)
    assert bytecode.without_bytecode(tmp_path) == []
    os.utime(module, (1, 1))
    assert bytecode.without_bytecode(tmp_path) == [module]


def test_bytecode_by_hash_counts_whatever_the_date(tmp_path):
    import py_compile

    module = tmp_path / "module.py"
    module.write_text("x = 1\n")
    py_compile.compile(str(module), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    os.utime(module, (1, 1))
    assert bytecode.has_bytecode(module)


def test_a_folder_where_bytecode_cannot_be_written_is_a_failure(tmp_path):
    (tmp_path / "module.py").write_text("x = 1\n")
    (tmp_path / "__pycache__").write_text("in the way")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "module.py" in done.stdout
