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
(parameter pattern: (identifier) @local)
(let_declaration pattern: (identifier) @local)
