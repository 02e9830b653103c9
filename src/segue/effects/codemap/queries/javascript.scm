(class_declaration name: (identifier) @name) @definition.class
(class_heritage (identifier) @inherit)
(formal_parameters (identifier) @local)
(arrow_function parameter: (identifier) @local)
