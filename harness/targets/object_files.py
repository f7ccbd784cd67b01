"""What object files of any machine say of themselves."""

import llvmlite.binding as llvm


def code_bytes(object_file: bytes) -> int:
    """Return the size of the machine code in an object file, shared library, cubin or HSA code object."""
    sections = llvm.ObjectFileRef.from_data(object_file).sections()
    return sum(section.size() for section in sections if section.is_text())
