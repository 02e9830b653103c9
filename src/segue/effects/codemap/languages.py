"""The languages that the map knows: their files, their grammars, and queries for what files define and use.

A query names what it finds: ``@definition.KIND`` with ``@name``, ``@call``, ``@inherit`` and ``@use`` with
an optional ``@receiver``, ``@import`` with ``@module`` and, where a language has them, ``@item``,
``@alias``, ``@star`` and ``@submodule``. Grammars come inside the packages of the extra ``segue[map]``; nothing is downloaded.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ...errors import NotInstalled, extra

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

ENDINGS = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".go": "go", ".rs": "rust", ".java": "java", ".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp",
    ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".rb": "ruby", ".rake": "ruby",
    ".cs": "c_sharp",
}  # fmt: skip
"""Endings of files, and the language in them. A header may be C or C++; the grammar of C++ reads both."""
_GRAMMARS = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}

_PYTHON = """
(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(module (expression_statement (assignment left: (identifier) @name) @definition.constant))
(class_definition superclasses: (argument_list (identifier) @inherit))
(class_definition superclasses: (argument_list (attribute object: (identifier) @receiver attribute: (identifier) @inherit)))
(call function: (identifier) @call)
(call function: (attribute object: (identifier) @receiver attribute: (identifier) @call))
(call function: (attribute object: [(call) (subscript) (attribute) (string) (parenthesized_expression)] attribute: (identifier) @call))
(attribute object: (identifier) @receiver attribute: (identifier) @use)
(import_statement name: (dotted_name) @module) @import
(import_statement name: (aliased_import name: (dotted_name) @module alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module name: (dotted_name) @item) @import
(import_from_statement module_name: (_) @module name: (aliased_import name: (dotted_name) @item alias: (identifier) @alias)) @import
(import_from_statement module_name: (_) @module (wildcard_import) @star) @import
"""  # noqa: E501

_JAVASCRIPT_BASE = """
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function)))
(program (lexical_declaration (variable_declarator name: (identifier) @name !value) @definition.constant))
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (number) (call_expression) (new_expression) (template_string) (as_expression) (await_expression) (identifier) (member_expression) (binary_expression) (true) (false)]) @definition.constant))
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(object) (array) (string) (number) (call_expression) (new_expression) (template_string) (as_expression) (await_expression) (identifier) (member_expression) (binary_expression) (true) (false)]) @definition.constant)))
(call_expression function: (identifier) @call)
(call_expression function: (member_expression object: [(identifier) (this)] @receiver property: [(property_identifier) (private_property_identifier)] @call))
(call_expression function: (member_expression object: [(call_expression) (new_expression) (member_expression) (subscript_expression) (await_expression) (parenthesized_expression)] property: [(property_identifier) (private_property_identifier)] @call))
(new_expression constructor: (identifier) @call)
(member_expression object: (identifier) @receiver property: (property_identifier) @use)
(import_statement source: (string (string_fragment) @module)) @import
(import_statement (import_clause (identifier) @alias) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (namespace_import (identifier) @alias)) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @item !alias))) source: (string (string_fragment) @module)) @import
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @item alias: (identifier) @alias))) source: (string (string_fragment) @module)) @import
(export_statement (export_clause (export_specifier name: (identifier) @item)) source: (string (string_fragment) @module)) @import
(export_statement "*" @star source: (string (string_fragment) @module)) @import
(call_expression function: [(identifier) (import)] @_import arguments: (arguments (string (string_fragment) @module)) (#any-of? @_import "require" "import")) @import
(variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @item) value: (call_expression function: (identifier) @_import arguments: (arguments (string (string_fragment) @module))) (#eq? @_import "require")) @import
(variable_declarator name: (identifier) @alias value: (call_expression function: (identifier) @_import arguments: (arguments (string (string_fragment) @module))) (#eq? @_import "require")) @import
"""  # noqa: E501
_JAVASCRIPT = (
    _JAVASCRIPT_BASE.replace(" (as_expression)", "")
    + """
(class_declaration name: (identifier) @name) @definition.class
(class_heritage (identifier) @inherit)
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
"""
)
_TYPESCRIPT = (
    _JAVASCRIPT_BASE
    + """
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.type
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.type
(extends_clause value: (identifier) @inherit)
(implements_clause (type_identifier) @inherit)
(extends_type_clause type: (type_identifier) @inherit)
"""
)
_TSX = (
    _TYPESCRIPT
    + """
(jsx_opening_element name: (identifier) @call)
(jsx_self_closing_element name: (identifier) @call)
"""
)
_GO = """
(function_declaration name: (identifier) @name) @definition.function
(method_declaration receiver: (parameter_list (parameter_declaration type: [(type_identifier) @owner (pointer_type (type_identifier) @owner) (generic_type type: (type_identifier) @owner) (pointer_type (generic_type type: (type_identifier) @owner))])) name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.constant)))
(call_expression function: (identifier) @call)
(call_expression function: (selector_expression operand: (identifier) @receiver field: (field_identifier) @call))
(call_expression function: (selector_expression operand: [(call_expression) (selector_expression) (index_expression) (parenthesized_expression)] field: (field_identifier) @call))
(selector_expression operand: (identifier) @receiver field: (field_identifier) @use)
(qualified_type package: (package_identifier) @receiver name: (type_identifier) @use)
(import_spec !name path: (interpreted_string_literal) @module) @import
(import_spec name: (package_identifier) @alias path: (interpreted_string_literal) @module) @import
"""  # noqa: E501
_RUST = """
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.class
(enum_item name: (type_identifier) @name) @definition.type
(union_item name: (type_identifier) @name) @definition.type
(trait_item name: (type_identifier) @name) @definition.type
(type_item name: (type_identifier) @name) @definition.type
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(macro_definition name: (identifier) @name) @definition.function
(mod_item name: (identifier) @name body: (_)) @definition.module
(impl_item type: [(type_identifier) @owner (generic_type type: (type_identifier) @owner)]) @scope
(impl_item trait: (type_identifier) @inherit)
(call_expression function: (identifier) @call)
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (scoped_identifier path: [(identifier) (self) (super) (crate)] @receiver name: (identifier) @call))
(call_expression function: (scoped_identifier path: (scoped_identifier name: (identifier) @receiver) name: (identifier) @call))
(call_expression function: (field_expression value: [(identifier) (self)] @receiver field: (field_identifier) @call))
(call_expression function: (field_expression value: [(call_expression) (field_expression) (await_expression) (try_expression) (index_expression) (parenthesized_expression)] field: (field_identifier) @call))
(macro_invocation macro: (identifier) @call)
(scoped_type_identifier path: [(identifier) (scoped_identifier)] name: (type_identifier) @use)
(use_declaration argument: (_) @module) @import
(mod_item name: (identifier) @submodule !body) @import
"""  # noqa: E501
_JAVA = """
(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.type
(annotation_type_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration (modifiers "static") declarator: (variable_declarator name: (identifier) @name)) @definition.constant
(superclass (type_identifier) @inherit)
(super_interfaces (type_list (type_identifier) @inherit))
(extends_interfaces (type_list (type_identifier) @inherit))
(method_invocation !object name: (identifier) @call)
(method_invocation object: [(identifier) (this) (super)] @receiver name: (identifier) @call)
(method_invocation object: [(method_invocation) (field_access) (object_creation_expression) (parenthesized_expression) (array_access)] name: (identifier) @call)
(object_creation_expression type: (type_identifier) @call)
(field_access object: (identifier) @receiver field: (identifier) @use)
(import_declaration (scoped_identifier) @module) @import
"""  # noqa: E501
_C = """
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function
(translation_unit (declaration declarator: (function_declarator declarator: (identifier) @name)) @declaration.function)
(struct_specifier name: (type_identifier) @name body: (_)) @definition.class
(union_specifier name: (type_identifier) @name body: (_)) @definition.type
(enum_specifier name: (type_identifier) @name body: (_)) @definition.type
(type_definition declarator: (type_identifier) @name) @definition.type
(preproc_def name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.function
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.constant)
(call_expression function: (identifier) @call)
(call_expression function: (field_expression argument: (identifier) @receiver field: (field_identifier) @call))
(call_expression function: (field_expression argument: [(call_expression) (field_expression) (subscript_expression) (parenthesized_expression)] field: (field_identifier) @call))
(preproc_include path: [(string_literal) (system_lib_string)] @module) @import
"""  # noqa: E501
_CPP = (
    _C
    + """
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(namespace_definition name: (namespace_identifier) @name) @definition.module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method
(function_definition declarator: (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name))) @definition.method
(function_definition declarator: (reference_declarator (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(function_definition declarator: (function_declarator declarator: (qualified_identifier name: (qualified_identifier scope: (namespace_identifier) @owner name: (identifier) @name)))) @definition.method
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @declaration.method
(alias_declaration name: (type_identifier) @name) @definition.type
(base_class_clause (type_identifier) @inherit)
(call_expression function: (qualified_identifier scope: (namespace_identifier) @receiver name: (identifier) @call))
(call_expression function: (field_expression argument: (this) @receiver field: (field_identifier) @call))
(call_expression function: (template_function name: (identifier) @call))
(new_expression type: (type_identifier) @call)
"""
)
_RUBY = """
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.module
(assignment left: (constant) @name) @definition.constant
(superclass [(constant) @inherit (scope_resolution name: (constant) @inherit)])
(call !receiver method: (identifier) @call)
(call receiver: [(identifier) (constant) (self) (instance_variable)] @receiver method: (identifier) @call)
(call receiver: [(call) (element_reference) (scope_resolution) (parenthesized_statements)] method: (identifier) @call)
(call !receiver method: (identifier) @_import arguments: (argument_list (string (string_content) @module)) (#any-of? @_import "require" "require_relative" "load")) @import
"""  # noqa: E501
_C_SHARP = """
(class_declaration name: (identifier) @name) @definition.class
(struct_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.type
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(local_function_statement name: (identifier) @name) @definition.function
(property_declaration name: (identifier) @name) @definition.constant
(namespace_declaration name: (_) @name) @definition.module
(file_scoped_namespace_declaration name: (_) @name) @definition.module
(base_list [(identifier) @inherit (generic_name (identifier) @inherit)])
(invocation_expression function: (identifier) @call)
(invocation_expression function: (generic_name (identifier) @call))
(invocation_expression function: (member_access_expression expression: [(identifier) "this" "base"] @receiver name: [(identifier) @call (generic_name (identifier) @call)]))
(invocation_expression function: (member_access_expression expression: [(invocation_expression) (member_access_expression) (element_access_expression) (object_creation_expression) (parenthesized_expression) (await_expression)] name: [(identifier) @call (generic_name (identifier) @call)]))
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)])
(member_access_expression expression: (identifier) @receiver name: (identifier) @use)
(using_directive [(identifier) (qualified_name)] @module) @import
"""  # noqa: E501
_PLAIN = "(identifier) @use"
_WITH_TYPES = "[(identifier) (type_identifier)] @use"
_SHORTHAND = "[(identifier) (shorthand_property_identifier)] @use"
USES = {
    "python": _PLAIN, "javascript": _SHORTHAND, "typescript": f"{_SHORTHAND} (type_identifier) @use",
    "tsx": f"{_SHORTHAND} (type_identifier) @use", "go": _WITH_TYPES, "rust": _WITH_TYPES,
    "java": _WITH_TYPES, "c": _WITH_TYPES, "cpp": _WITH_TYPES, "ruby": "[(identifier) (constant)] @use",
    "c_sharp": _PLAIN,
}  # fmt: skip
"""Every name, for what is used without being called; most of them are of no interest."""
QUERIES = {
    "python": _PYTHON, "javascript": _JAVASCRIPT, "typescript": _TYPESCRIPT, "tsx": _TSX, "go": _GO,
    "rust": _RUST, "java": _JAVA, "c": _C, "cpp": _CPP, "ruby": _RUBY, "c_sharp": _C_SHARP,
}  # fmt: skip


class Grammar(NamedTuple):
    """A language, ready to parse."""

    parser: Parser
    query: Query
    uses: Query


@cache
def grammar_of(language: str) -> Grammar:
    """The parser and the query for a language. Raises NotInstalled without the extra."""
    module, function = _GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        from tree_sitter import Language, Parser, Query

        loaded = Language(getattr(import_module(module), function)())
    except ImportError as fault:
        raise NotInstalled(
            "the map of the code needs tree-sitter and its grammars", hint=extra("map")
        ) from fault
    return Grammar(Parser(loaded), Query(loaded, QUERIES[language]), Query(loaded, USES[language]))


def language_of(path: str) -> str:
    """The language of a file by its name; empty if the map does not know it."""
    dot = path.rfind(".")
    return ENDINGS.get(path[dot:].lower(), "") if dot >= 0 else ""
